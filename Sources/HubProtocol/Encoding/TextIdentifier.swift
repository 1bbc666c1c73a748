/// An identifier that is encoded as its text, and checked again when it is decoded.
package protocol TextIdentifier: Sendable, Codable, CustomStringConvertible {
    var text: String { get }

    init(_ text: String) throws(ProtocolError)
}

extension TextIdentifier {
    package var description: String { text }

    package init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
