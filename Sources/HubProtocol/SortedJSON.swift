package import Foundation

extension JSONEncoder {
    /// An encoder of our own shapes: members in the order of their names, so that equal values give equal bytes.
    package static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }

    /// The same with slashes that are not escaped, for texts that people also read.
    package static var plain: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    /// Returns the encoded value as text.
    ///
    /// - Throws: `EncodingError`.
    package func text(_ value: some Encodable) throws -> String { String(decoding: try encode(value), as: UTF8.self) }
}
