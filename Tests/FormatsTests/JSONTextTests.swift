import Formats
import Foundation
import Testing

struct JSONTextTests {
    @Test func `values are written without white space, members in the order of the literal`() {
        let value: JSONText = [
            "b": [1, -2, true, "x"], "a": ["z": .null, "y": JSONText(UInt64.max), "left out": nil], "": [], "c": [:],
        ]
        #expect(value.text == #"{"b":[1,-2,true,"x"],"a":{"z":null,"y":18446744073709551615},"":[],"c":{}}"#)
        #expect(value.bytes == Array(value.text.utf8) && "\(value)" == value.text)
    }

    @Test func `values of variables are written`() {
        let (text, none): (String, String?) = ("a", nil)
        #expect(
            JSONText(members: [("t", JSONText(text)), ("n", JSONText(none)), ("f", false)]).text
                == #"{"t":"a","f":false}"#
        )
        #expect(JSONText(sorted: ["b": "2", "a": "1"]).text == #"{"a":"1","b":"2"}"#)
        #expect(JSONText(sorted: ["b": 2, "a": 1] as [String: JSONText]).text == #"{"a":1,"b":2}"#)
        #expect(JSONText(strings: ["a", "b"]).text == #"["a","b"]"#)
        #expect(JSONText(array: [1, 2, 3], separator: ",\n").text == "[1,\n2,\n3]")
    }

    @Test func `an empty array or object can be left out`() {
        let (array, object): (JSONText, JSONText) = ([], [:])
        #expect(array.unlessEmpty == nil && object.unlessEmpty == nil)
        #expect(JSONText("").unlessEmpty != nil && ([0] as JSONText).unlessEmpty != nil)
        #expect((["a": nil] as JSONText).unlessEmpty == nil)
    }

    @Test(arguments: [
        ("\"\\/", #""\"\\/""#), ("\n\r\t", #""\n\r\t""#), ("\u{0}\u{8}\u{C}\u{1F}", #""\u0000\u0008\u000c\u001f""#),
        ("\u{7F}\u{2028}\u{2029}é😀</", "\"\u{7F}\u{2028}\u{2029}é😀</\""),
    ])
    func `a string is escaped where RFC 8259 requires it`(text: String, expected: String) {
        #expect(JSONText(text).text == expected)
    }

    // MARK: What is written is read

    /// Scalars at the borders of what readers and writers treat alike.
    private static let unusual: [Unicode.Scalar] = [
        "\"", "\\", "/", "<", "\u{7F}", "\u{80}", "\u{2028}", "\u{2029}", "\u{D7FF}", "\u{E000}", "\u{FEFF}",
        "\u{FFFD}",
        "\u{FFFF}", "\u{10000}", "\u{1F600}", "\u{10FFFF}", "\u{301}", "u", "n", "{", "}", "[", "]", ":", ",",
    ]

    private static func string(_ generator: inout some RandomNumberGenerator) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...12, using: &generator) {
            switch Int.random(in: 0...2, using: &generator) {
            case 0: text.append(unusual[Int.random(in: 0..<unusual.count, using: &generator)])
            case 1: text.append(Unicode.Scalar(UInt8.random(in: 0...0x1F, using: &generator)))
            default: text.append(Unicode.Scalar(UInt32.random(in: 0...0x10_FFFF, using: &generator)) ?? "\u{D7FF}")
            }
        }
        return String(text)
    }

    private static func value(_ depth: Int, _ generator: inout some RandomNumberGenerator) -> JSONText {
        switch Int.random(in: 0...(depth == 0 ? 3 : 5), using: &generator) {
        case 0: .null
        case 1: JSONText(Bool.random(using: &generator))
        case 2: JSONText(Int64.random(in: .min ... .max, using: &generator))
        case 3: JSONText(string(&generator))
        case 4:
            JSONText(array: (0..<Int.random(in: 0...4, using: &generator)).map { _ in value(depth - 1, &generator) })
        default:
            JSONText(
                members: (0..<Int.random(in: 0...4, using: &generator)).map { index in
                    ("\(index)" + string(&generator), value(depth - 1, &generator))
                }
            )
        }
    }

    @Test func `random strings are read back equal, by Foundation too`() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<3_000 {
            let text = Self.string(&generator)
            let written = JSONText(text)
            #expect(!written.bytes.contains { $0 < 0x20 })
            let read = try JSONReader.read(written.bytes).string
            #expect(read.map { Array($0.utf8) } == Array(text.utf8), "\(written)")
            let foreign = try JSONDecoder().decode([String].self, from: Data("[\(written)]".utf8))
            #expect(foreign.first.map { Array($0.utf8) } == Array(text.utf8), "\(written)")
        }
    }

    @Test func `random values are read back equal`() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let value = Self.value(4, &generator)
            #expect(JSONText(try JSONReader.read(value.bytes)) == value)
            #expect(JSONReader.readLeniently(value.bytes).value?.text == value.text)
        }
    }
}
