import Formats
import Testing

@testable import HubProtocol

/// Source: protocol §3.4.
@Suite struct PageSizeTests {
    @Test(arguments: [
        (nil, 100), ("1", 1), ("007", 7), ("99", 99), ("100", 100), ("101", 100), ("2147483647", 100),
        ("99999999999999999999999999", 100), ("00000000000000000001", 1),
    ])
    func `a page has as many as asked for, at most 100`(text: String?, count: Int) throws {
        #expect(try PageSize(top: text).count == count)
    }

    @Test(arguments: ["", "0", "000", "-1", "+1", "1.0", "ten", " 1", "٣", "1e2"])
    func `an invalid number of registrations is refused`(text: String) {
        #expect { try PageSize(top: text) } throws: {
            ($0 as? ProtocolError) == .badRequest("$top '\(text)' is not a number from 1 to 100")
        }
    }
}

@Suite struct ContinuationTokenTests {
    @Test(arguments: [
        "7", "4497227228776861650-7267172778370643468-3", "a b/c?=&%+é新", String(repeating: "ÿ", count: 300),
    ])
    func `a token survives every escaping that clients do`(position: String) throws {
        let token = ContinuationToken(position: position)
        #expect(token.text.hasOnlyLettersAndDigits(or: "-_"))
        let once = token.text.utf8.map { "%" + String($0, radix: 16) }.joined()
        for text in [token.text, PercentEncoding.encode(token.text), once, once.replacing("%", with: "%25")] {
            guard text.utf8.count <= ContinuationToken.maximumLength else { continue }
            #expect(try ContinuationToken(parsing: text) == token)
        }
    }

    @Test func `a token that was cut or changed is refused`() {
        let token = ContinuationToken(position: "4497227228776861650-7267172778370643468-3").text
        var wrong = ["", "MzEobik7Mg==", "MzEobik7Mg%3D%3D", "%", "%%%", "%zz", "AAA", token + "A", token + "=", "é"]
        wrong += (0..<token.count).map { String(token.prefix($0)) }
        wrong += token.indices.map { index in
            token[..<index] + (token[index] == "A" ? "B" : "A") + token[token.index(after: index)...]
        }
        wrong.append(String(repeating: "A", count: 100_000))
        for text in wrong {
            #expect(throws: ProtocolError.self, "\(text.prefix(80))") { try ContinuationToken(parsing: text) }
        }
        #expect { try ContinuationToken(parsing: "MzEobik7Mg==") } throws: {
            ($0 as? ProtocolError)
                == .badRequest(
                    "the continuation token 'MzEobik7Mg==' was not issued by this hub: take it from the header "
                        + "X-MS-ContinuationToken of the previous page, or omit it to start again"
                )
        }
    }
}
