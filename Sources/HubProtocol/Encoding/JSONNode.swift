/// A JSON value together with where it stood in the text.
package struct JSONNode: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        case null
        case bool(Bool)
        /// As written, so that nothing is lost in between.
        case number(String)
        case string(String)
        case array([JSONNode])
        case object([JSONMember])
    }

    package let content: Content
    /// Bytes from the first to the last of the value, quotes and brackets included.
    let range: Range<Int>

    /// The kind of value as an error names it.
    var kind: String {
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
}

/// One member of an object, in the order of the text.
package struct JSONMember: Sendable, Equatable {
    package let name: String
    package let value: JSONNode
}

/// Why a text is not JSON, or not JSON that we take.
package struct JSONSyntaxError: Error, Equatable {
    /// In bytes from the start.
    let offset: Int
    let reason: String
}
