import Foundation
import HubProtocol
import Testing

@Suite struct ErrorReferenceTests {
    private static func text(_ path: String) throws -> String {
        let repository = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: repository.appending(path: path), encoding: .utf8)
    }

    @Test func `the table in docs is the catalogue of codes, each with advice`() throws {
        let rows = try Self.text("docs/errors.md").split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(2)
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
        #expect(rows.allSatisfy { $0.count == 5 && $0[4].hasSuffix(".") })
        #expect(
            rows.map { Array($0.prefix(4)) }
                == ProtocolError.Code.all.map { ["\($0.number)", "\($0.status)", "`\($0.name)`", $0.sentence] }
        )
    }

    @Test func `the catalogue has every code that is declared, once and by its name`() throws {
        let source = try Self.text("Sources/HubProtocol/ProtocolError+Code.swift")
        let declared = source.matches(of: /static let (\w+) = Code\(\s*([0-9_]+),(?:\s*status: \d+,)?\s*"(\w+)"/)
        #expect(source.matches(of: /= Code\(/).count == declared.count)
        #expect(declared.map { $0.output.1 } == declared.map { $0.output.3 })
        #expect(declared.map { String($0.output.1) } == ProtocolError.Code.all.map(\.name))
        let numbers = ProtocolError.Code.all.map(\.number)
        #expect(numbers == Set(numbers).sorted())
    }
}
