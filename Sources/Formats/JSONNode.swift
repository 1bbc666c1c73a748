/// A JSON value together with its place in the text.
package struct JSONNode: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        case null
        case bool(Bool)
        /// The number as written, so that nothing is lost.
        case number(String)
        case string(String)
        case array([JSONNode])
        case object([JSONMember])
    }

    package let content: Content
    /// The bytes of the value, including quotes and brackets.
    package let range: Range<Int>

    package init(content: Content, range: Range<Int>) {
        self.content = content
        self.range = range
    }

    /// The kind of value as an error names it.
    package var kind: String {
        switch content {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    package var string: String? {
        if case .string(let text) = content { text } else { nil }
    }

    /// The value as a whole number without fraction and exponent; else `nil`.
    package var integer: Int64? {
        if case .number(let text) = content { Int64(text) } else { nil }
    }

    package var isNull: Bool {
        if case .null = content { true } else { false }
    }

    package var isTrue: Bool { content == .bool(true) }

    package var members: [JSONMember]? {
        if case .object(let members) = content { members } else { nil }
    }

    package var elements: [JSONNode]? {
        if case .array(let elements) = content { elements } else { nil }
    }

    /// Number of bytes of the names, texts and numbers in the value.
    package var contentBytes: Int {
        switch content {
        case .null, .bool: 0
        case .number(let text), .string(let text): text.utf8.count
        case .array(let elements): elements.reduce(0) { $0 + $1.contentBytes }
        case .object(let members): members.reduce(0) { $0 + $1.name.utf8.count + $1.value.contentBytes }
        }
    }

    /// A member of an object.
    package subscript(name: String) -> JSONNode? { members?.first { $0.name == name }?.value }

    /// A member under either of two spellings.
    package subscript(name: String, other: String) -> JSONNode? { self[name] ?? self[other] }
}

extension JSONNode {
    /// The value without white space, numbers as they were written.
    package var text: String { JSONText(self).text }
}

/// One member of an object, in the order of the text.
package struct JSONMember: Sendable, Equatable {
    package let name: String
    package let value: JSONNode
}

/// The reason why a text is not JSON, or not JSON that is accepted.
package struct JSONSyntaxError: Error, Equatable {
    /// The place in bytes from the start.
    package let offset: Int
    package let reason: String
}
