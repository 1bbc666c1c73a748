import Foundation
import Testing

@testable import Formats

/// What Foundation's decoder made of our documents, this one makes of them.
@Suite struct JSONDecodingTests {
    private enum Choice: String, Codable { case first, second }

    private enum Shape: Codable, Equatable {
        case circle(radius: Double)
        case point
    }

    private struct Inner: Codable, Equatable {
        var choice: Choice?
        var shape: Shape?
        var list: [Int?] = []
        var table: [String: [String]] = [:]
    }

    private struct Outer: Codable, Equatable {
        var text = ""
        var flag = false
        var int = 0
        var small: UInt8 = 0
        var large: UInt64 = 0
        var double = 0.0
        var float: Float = 0
        var date = Date(timeIntervalSinceReferenceDate: 0)
        var data = Data()
        var maybe: String?
        var inner: Inner?
        var inners: [Inner] = []
        var numbers: [Int: String] = [:]
    }

    private static let values = [
        Outer(),
        Outer(
            text: "é\"\n\u{0}😀",
            flag: true,
            int: .min,
            small: 255,
            large: .max,
            double: -1.5e-300,
            float: 0.1,
            date: Date(timeIntervalSinceReferenceDate: 796_000_000.123),
            data: Data([0, 1, 254, 255]),
            maybe: "",
            inner: Inner(choice: .second, shape: .circle(radius: 2), list: [1, nil, 3], table: ["a": ["b"], "c": []]),
            inners: [Inner(), Inner(shape: .point)],
            numbers: [1: "one", -2: "two"]
        ),
    ]

    @Test func `what Foundation encodes is decoded to the same value`() throws {
        for value in Self.values {
            let data = try JSONEncoder().encode(value)
            #expect(try JSONReader.decode(Outer.self, from: [UInt8](data)) == value)
        }
    }

    @Test(arguments: [
        "1", "1.0", "1e2", "100E-2", "1.5", "-0", "-1", "255", "256", "300", "9007199254740993",
        "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "1e999",
        "-1e40", "true", "\"1\"", "null", "[]", "{}", "[1]", "{\"a\":1}",
    ])
    func `a number, or another value in its place, is read as by Foundation`(text: String) {
        func check<Value: Decodable & Equatable>(_ type: Value.Type) {
            let document = "{\"v\":\(text)}"
            let ours = try? JSONReader.decode([String: Value].self, from: document)
            let theirs = try? JSONDecoder().decode([String: Value].self, from: Data(document.utf8))
            #expect(ours == theirs, "\(text) as \(type)")
        }
        check(Int.self)
        check(Int64.self)
        check(UInt64.self)
        check(UInt8.self)
        check(Double.self)
        check(Float.self)
        check(Bool.self)
        check(String.self)
        check(Int?.self)
        check([Int].self)
        check([String: Int].self)
        check(Date.self)
        check(Data.self)
    }

    @Test func `of a repeated name the first member counts, as with Foundation`() throws {
        let text = #"{"maybe":"a","maybe":"b"}"#
        struct Pair: Decodable, Equatable { let maybe: String }
        #expect(try JSONReader.decode(Pair.self, from: text).maybe == "a")
        #expect(try JSONDecoder().decode(Pair.self, from: Data(text.utf8)).maybe == "a")
        #expect(try JSONReader.decode([String: String].self, from: text) == ["maybe": "a"])
    }

    @Test func `an object of many members is read as one of few`() throws {
        let table = Dictionary(uniqueKeysWithValues: (0..<1_000).map { ("name \($0)", $0) })
        let bytes = [UInt8](try JSONEncoder().encode(table))
        #expect(try JSONReader.decode([String: Int].self, from: bytes) == table)
        #expect(throws: DecodingError.self) { try JSONReader.decode(Inner.self, from: bytes) }
    }

    @Test func `an error names its place`() {
        func path(_ text: String) -> String? {
            do {
                _ = try JSONReader.decode([Inner].self, from: text)
                return nil
            } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
                DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context)
            {
                return context.codingPath.map(\.stringValue).joined(separator: "/")
            } catch {
                return "\(error)"
            }
        }
        #expect(path(#"[{"list":[],"table":{}},{"list":[1,"x"],"table":{}}]"#) == "Index 1/list/Index 1")
        #expect(path(#"[{"list":[],"table":{"a":[null]}}]"#) == "Index 0/table/a/Index 0")
        #expect(path(#"[{"list":[]}]"#) == "Index 0")
        #expect(path(#"[{"list":[],"table":{},"choice":"third"}]"#) == "Index 0/choice")
        #expect(path("{}") == "")
    }

    @Test func `containers are read by hand, too`() throws {
        struct Hand: Decodable {
            var texts: [String] = []

            init(from decoder: any Decoder) throws {
                enum Keys: String, CodingKey { case a, b, c }
                let members = try decoder.container(keyedBy: Keys.self)
                var list = try members.nestedUnkeyedContainer(forKey: .a)
                #expect(list.count == 4)
                while !list.isAtEnd {
                    if try list.decodeNil() { texts.append("null") }
                    // An element of another type is not consumed.
                    if let text = try? list.decode(String.self) { texts.append(text) }
                    if var inner = try? list.nestedUnkeyedContainer() { texts.append(try inner.decode(String.self)) }
                }
                #expect(throws: DecodingError.self) { try list.decode(String.self) }
                let inner = try members.nestedContainer(keyedBy: Keys.self, forKey: .b)
                texts.append(try inner.decode(String.self, forKey: .c))
                #expect(inner.allKeys == [.c] && inner.contains(.c) && !inner.contains(.a))
                #expect(try members.decodeNil(forKey: .c))
                #expect(throws: DecodingError.self) { try inner.decodeNil(forKey: .a) }
                texts.append(try String(from: inner.superDecoder(forKey: .c)))
            }
        }
        let text = #"{"a":["x",null,["y"],"z"],"b":{"c":"w","unknown":1},"c":null}"#
        #expect(try JSONReader.decode(Hand.self, from: text).texts == ["x", "null", "y", "z", "w", "w"])
    }
}
