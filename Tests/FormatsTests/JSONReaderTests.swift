import Testing

@testable import Formats

/// Texts with many levels.
private enum Levels {
    /// Arrays around a number.
    static func arrays(_ count: Int) -> String { repeated("[", count) + "1" + repeated("]", count) }

    /// Objects around a number.
    static func objects(_ count: Int) -> String { repeated("{\"a\":", count) + "1" + repeated("}", count) }

    static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }
}

@Suite struct JSONReaderTests {
    /// Foundation's decoder ends the process on each of them (Swift 6.3.1).
    @Test(arguments: [
        Levels.repeated("[", 513), Levels.repeated("{\"a\":", 512) + "[", Levels.repeated("[{\"a\":", 256) + "[",
        Levels.repeated("[", 513) + "\r", " " + Levels.repeated("[", 512) + "\n [",
    ])
    func `a text that ends at its 513th opening bracket is an error`(text: String) {
        for limits in [JSONLimits.foreign, .stored] {
            #expect(throws: JSONSyntaxError.self) { try JSONReader.read(Array(text.utf8), limits: limits) }
            #expect(throws: JSONSyntaxError.self) { try JSONReader.decode([Int].self, from: text, limits: limits) }
            #expect(JSONReader.readLeniently(Array(text.utf8), limits: limits).fault != nil)
        }
    }

    @Test func `any number of brackets around a limit is read or refused`() {
        for limits in [JSONLimits.foreign, .stored] {
            for count in limits.depth - 3...limits.depth + 3 {
                for (opening, closing) in [("[", "]"), ("{\"a\":", "}")] {
                    for text in ["", " ", "\r", "\n", "1", "\"", "\"\\", "\"a", "nul", "-", ",", "]", "}", "\u{0}"] {
                        let cut = Levels.repeated(opening, count) + text
                        for end in [cut, cut + Levels.repeated(closing, count)] {
                            let read = try? JSONReader.read(Array(end.utf8), limits: limits)
                            #expect(read == nil || count <= limits.depth, "\(count) × \(opening), '\(text)'")
                        }
                    }
                }
            }
        }
    }

    @Test func `64 levels are read from outside, and 512 from a store`() throws {
        for (limits, depth) in [(JSONLimits.foreign, 64), (.stored, 512)] {
            for nested in [Levels.arrays, Levels.objects] {
                #expect(throws: Never.self) { try JSONReader.read(Array(nested(depth).utf8), limits: limits) }
                let error = #expect(throws: JSONSyntaxError.self) {
                    try JSONReader.read(Array(nested(depth + 1).utf8), limits: limits)
                }
                #expect(error?.reason == "nesting is deeper than \(depth) levels")
            }
        }
    }

    @Test func `brackets in strings are not levels`() throws {
        let text = "[\"\(Levels.repeated("[{\\\"", 1_000))\"]"
        #expect(try JSONReader.decode([String].self, from: text) == [Levels.repeated("[{\"", 1_000)])
    }

    @Test func `size and number of values are bounded`() {
        let limits = JSONLimits(bytes: 20, depth: 2, values: 5)
        func reason(_ text: String) -> String? {
            do throws(JSONSyntaxError) {
                _ = try JSONReader.read(Array(text.utf8), limits: limits)
                return nil
            } catch {
                return error.reason
            }
        }
        #expect(reason("[1,2,3,4]") == nil && reason("[1,2,3,4,5]") == "the text has more than 5 values")
        #expect(reason(Levels.repeated(" ", 19) + "1") == nil)
        #expect(reason(Levels.repeated(" ", 20) + "1") == "the text is larger than 20 bytes")
    }

    @Test(arguments: [
        ("", 0, "the text ends where a value is expected"), ("[1,]", 3, "a value is expected"),
        ("[1 2]", 3, "',' or ']' is expected"), ("{\"a\":1,}", 7, "a member name in quotes is expected"),
        ("{\"a\" 1}", 5, "':' is expected"), ("{\"é\":1,\"\\u00e9\":2}", 8, "the name 'é' appears twice in one object"),
        ("{\"a\u{202E}\":1,\"a\u{202E}\":2}", 10, "the name 'a\u{FFFD}' appears twice in one object"),
        ("1 2", 2, "there is text after the value"), ("-", 1, "a digit is expected"), ("1.", 2, "a digit is expected"),
        ("1e+", 3, "a digit is expected"), ("01", 1, "there is text after the value"),
        ("nul", 0, "a value is expected"),
        ("\"\\x\"", 1, "'\\' does not begin a known escape"), ("\"\\u12\"", 1, "'\\u' is not followed by four digits"),
        ("\"a\nb\"", 2, "a string contains an unescaped control character"), ("\"a", 2, "a string is not closed"),
        ("\"a\\", 3, "a string is not closed"), ("\u{B}1", 0, "a value is expected"),
    ])
    func `an error has its place and reason`(text: String, offset: Int, reason: String) {
        #expect(throws: JSONSyntaxError(offset: offset, reason: reason)) { try JSONReader.read(Array(text.utf8)) }
    }

    @Test func `a text is UTF-8, with or without a byte order mark`() throws {
        #expect(try JSONReader.read([0xEF, 0xBB, 0xBF] + Array("1".utf8)).content == .number("1"))
        for bytes in [[0x22, 0xFF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0xFF, 0xFE, 0x31, 0], [0x31, 0]] as [[UInt8]]
        {
            #expect(throws: JSONSyntaxError.self) { try JSONReader.read(bytes) }
        }
    }

    @Test func `escapes and halves of surrogate pairs are read`() throws {
        let text = #""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud800\ud800\u0041é😀\udc00""#
        let expected = "\"\\/\u{8}\u{C}\n\r\té😀\u{FFFD}\u{FFFD}Aé😀\u{FFFD}"
        #expect(try JSONReader.read(Array(text.utf8)).string == expected)
        var scanner = JSONStringScanner(bytes: Array(text.utf8), position: 1)
        var scalars = String.UnicodeScalarView()
        while let scalar = try scanner.next() { scalars.append(scalar) }
        #expect(String(scalars) == expected && scanner.position == text.utf8.count)
    }

    @Test func `the text of a value is the value`() throws {
        let text = #"{"a":[1.50,-0,true,false,null,"\n\"é"],"b":{}}"#
        #expect(try JSONReader.read(Array(" \(text)\n".utf8)).text == text)
    }
}

@Suite struct LenientJSONTests {
    @Test(arguments: [
        (#"{"a":[1,2"#, #"{"a":[1,2]}"#), (#"{"a":[1,"b"#, #"{"a":[1]}"#), (#"{"a":[1,{"b":2"#, #"{"a":[1]}"#),
        (#"{"a":{"b":2"#, #"{"a":{"b":2}}"#),
        (#"{"a":1,"b"#, #"{"a":1}"#), (#"{"a":1,"b":tr"#, #"{"a":1}"#), (#"[1,"a"#, "[1]"), (#"["\"#, "[]"),
        (#"[1 2]"#, "[1]"), ("[", "[]"), ("{", "{}"),
    ])
    func `the complete parts of a cut or broken document are kept`(text: String, kept: String) {
        let document = JSONReader.readLeniently(Array(text.utf8))
        #expect(document.value?.text == kept && document.fault != nil && !document.isComplete)
    }

    @Test(arguments: [
        ("[1,]", "[1]"), (#"{"a":1,}"#, #"{"a":1}"#), ("\u{B}\u{C}1", "1"), ("[+1]", nil), ("[-,1.e,00]", "[-,1.e,00]"),
        ("\"a\nb\u{0}\"", #""a\nb\u0000""#), (#""\x\é\u12\uZZ\ud83d\u1""#, "\"xé12ZZ\u{FFFD}1\""),
    ])
    func `common faults do not matter`(text: String, read: String?) {
        let document = JSONReader.readLeniently(Array(text.utf8))
        #expect(document.value?.text == read ?? "[]")
        #expect((document.fault == nil) == (read != nil))
    }

    @Test func `invalid UTF-8 is replaced, and the first of repeated names counts`() {
        let bytes = Array("{\"a\":\"x".utf8) + [0xFF] + Array("y\\n\",\"a\":2}".utf8)
        let document = JSONReader.readLeniently(bytes)
        #expect(document.value?["a"]?.string == "x\u{FFFD}y\n" && document.fault == nil)
    }

    @Test func `text after the value does not make it incomplete`() {
        let document = JSONReader.readLeniently(Array("[1] x".utf8))
        #expect(document.value?.text == "[1]" && document.isComplete)
        #expect(document.fault == JSONSyntaxError(offset: 4, reason: "there is text after the value"))
    }

    @Test func `no value is nil`() {
        for text in ["", " ", "x", ",", "]"] {
            let document = JSONReader.readLeniently(Array(text.utf8))
            #expect(document.value == nil && document.fault != nil)
        }
    }
}
