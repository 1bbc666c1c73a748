import FoundationEssentials

/// Base64 in the alphabet that needs no escaping in addresses and headers, without padding (RFC 4648 §5).
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
        let url = Data(bytes).base64EncodedString().utf8.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: url, as: UTF8.self)
    }

    /// Returns the bytes; `nil` for a text with any other character.
    package static func decode(_ text: String) -> [UInt8]? {
        text.utf8.contains(where: Array("+/=".utf8).contains) ? nil : decodeAny(text)
    }

    /// Also reads the ordinary alphabet, and padding of at most two characters.
    package static func decodeAny(_ text: String) -> [UInt8]? {
        var base64 = text.utf8.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        for _ in 0..<2 where base64.last == UInt8(ascii: "=") { base64.removeLast() }
        guard base64.last != UInt8(ascii: "=") else { return nil }
        while !base64.count.isMultiple(of: 4) { base64.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: Data(base64)).map { Array($0) }
    }
}
