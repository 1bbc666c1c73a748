import FoundationEssentials

/// Creates values of types from JSON that was read.
///
/// It replaces Foundation's `JSONDecoder`, which ends the process on some texts (Swift 6.3.1). The forms are the same:
/// `Data` is base64, a date is the number of seconds since 2001, and a number such as `1.0` is an integer.
final class JSONNodeDecoder: Decoder {
    fileprivate let node: JSONNode
    private let parent: JSONNodeDecoder?
    private let key: (any CodingKey)?

    static func decode<Value: Decodable>(_ type: Value.Type, from node: JSONNode) throws -> Value {
        try JSONNodeDecoder(node, in: nil, at: nil).decode(type)
    }

    private init(_ node: JSONNode, in parent: JSONNodeDecoder?, at key: (any CodingKey)?) {
        self.node = node
        self.parent = parent
        self.key = key
    }

    var codingPath: [any CodingKey] { (parent?.codingPath ?? []) + (key.map { [$0] } ?? []) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = node.content else { throw mismatch([String: any Decodable].self) }
        return KeyedDecodingContainer(JSONKeyedContainer(self, members))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = node.content else { throw mismatch([any Decodable].self) }
        return JSONUnkeyedContainer(self, elements)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    fileprivate func child(_ node: JSONNode, at key: any CodingKey) -> JSONNodeDecoder {
        JSONNodeDecoder(node, in: self, at: key)
    }

    fileprivate func decode<Value: Decodable>(_ type: Value.Type, from node: JSONNode, at key: any CodingKey) throws
        -> Value
    {
        if let type = type as? any JSONScalar.Type, let value = type.init(json: node) as? Value { return value }
        return try child(node, at: key).decode(type)
    }

    fileprivate func mismatch(_ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "this is \(node.kind)")
        return node.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }
}

extension JSONNodeDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { node.isNull }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard let scalar = type as? any JSONScalar.Type else { return try Value(from: self) }
        guard let value = scalar.init(json: node) as? Value else { throw mismatch(type) }
        return value
    }
}

private struct JSONKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    /// Number of members above which names are looked up in a table.
    private static var longestScan: Int { 16 }

    private let decoder: JSONNodeDecoder
    private let members: [JSONMember]
    private let places: [String: Int]?

    init(_ decoder: JSONNodeDecoder, _ members: [JSONMember]) {
        self.decoder = decoder
        self.members = members
        places =
            members.count > Self.longestScan
            ? Dictionary(members.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first }) : nil
    }

    var codingPath: [any CodingKey] { decoder.codingPath }

    var allKeys: [Key] { members.compactMap { Key(stringValue: $0.name) } }

    private func found(_ key: Key) -> JSONNode? {
        if let places { return places[key.stringValue].map { members[$0].value } }
        let name = key.stringValue
        return members.first { $0.name == name }?.value
    }

    private func node(_ key: Key) throws -> JSONNode {
        if let node = found(key) { return node }
        let context = DecodingError.Context(
            codingPath: codingPath,
            debugDescription: "there is no '\(key.stringValue)'"
        )
        throw DecodingError.keyNotFound(key, context)
    }

    func contains(_ key: Key) -> Bool { found(key) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try node(key).isNull }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder.decode(type, from: try node(key), at: key)
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard let node = found(key), !node.isNull else { return nil }
        return try decoder.decode(type, from: node, at: key)
    }

    func nestedContainer<Inner>(keyedBy type: Inner.Type, forKey key: Key) throws -> KeyedDecodingContainer<Inner> {
        try decoder.child(try node(key), at: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder.child(try node(key), at: key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        guard let key = Key(stringValue: "super") else { return decoder }
        return try superDecoder(forKey: key)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { decoder.child(try node(key), at: key) }
}

private struct JSONUnkeyedContainer: UnkeyedDecodingContainer {
    private struct Index: CodingKey {
        let number: Int

        init(_ number: Int) { self.number = number }
        init?(intValue: Int) { number = intValue }
        init?(stringValue: String) { nil }

        var intValue: Int? { number }
        var stringValue: String { "Index \(number)" }
    }

    private let decoder: JSONNodeDecoder
    private let elements: [JSONNode]
    private(set) var currentIndex = 0

    init(_ decoder: JSONNodeDecoder, _ elements: [JSONNode]) {
        self.decoder = decoder
        self.elements = elements
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    /// The next element is consumed only if `read` succeeds.
    private mutating func next<Value>(_ type: Any.Type, _ read: (JSONNode, Index) throws -> Value) throws -> Value {
        guard !isAtEnd else {
            let context = DecodingError.Context(
                codingPath: codingPath,
                debugDescription: "the array has no more elements"
            )
            throw DecodingError.valueNotFound(type, context)
        }
        let value = try read(elements[currentIndex], Index(currentIndex))
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, elements[currentIndex].isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try next(type) { [decoder] in try decoder.decode(type, from: $0, at: $1) }
    }

    mutating func nestedContainer<Inner>(keyedBy type: Inner.Type) throws -> KeyedDecodingContainer<Inner> {
        try next(type) { [decoder] in try decoder.child($0, at: $1).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next([any Decodable].self) { [decoder] in try decoder.child($0, at: $1).unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try next((any Decoder).self) { [decoder] in decoder.child($0, at: $1) }
    }
}

// MARK: Scalars

/// A type with a form of its own in JSON.
private protocol JSONScalar {
    init?(json: JSONNode)
}

extension String: JSONScalar {
    fileprivate init?(json node: JSONNode) {
        guard case .string(let text) = node.content else { return nil }
        self = text
    }
}

extension Bool: JSONScalar {
    fileprivate init?(json node: JSONNode) {
        guard case .bool(let value) = node.content else { return nil }
        self = value
    }
}

extension Data: JSONScalar {
    fileprivate init?(json node: JSONNode) {
        guard let text = node.string else { return nil }
        self.init(base64Encoded: text)
    }
}

extension LosslessStringConvertible where Self: BinaryFloatingPoint {
    /// Returns `nil` for a number that is too large for the type.
    fileprivate init?(json node: JSONNode) {
        guard case .number(let text) = node.content, let value = Self(text), value.isFinite else { return nil }
        self = value
    }
}

extension FixedWidthInteger {
    fileprivate init?(json node: JSONNode) {
        guard case .number(let text) = node.content else { return nil }
        if let value = Self(text) {
            self = value
        } else {
            // Above 2⁵³ the text may be another number than its nearest `Double`.
            guard let value = Double(text), value.magnitude < 0x1p53 else { return nil }
            self.init(exactly: value)
        }
    }
}

extension Double: JSONScalar {}
extension Float: JSONScalar {}
extension Int: JSONScalar {}
extension Int8: JSONScalar {}
extension Int16: JSONScalar {}
extension Int32: JSONScalar {}
extension Int64: JSONScalar {}
extension UInt: JSONScalar {}
extension UInt8: JSONScalar {}
extension UInt16: JSONScalar {}
extension UInt32: JSONScalar {}
extension UInt64: JSONScalar {}
