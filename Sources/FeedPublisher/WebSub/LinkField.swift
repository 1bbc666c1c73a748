internal import FoundationEssentials

/// One link of an HTTP `Link` header field.
///
/// Source: RFC 8288 §3.
struct LinkField: Sendable, Equatable {
    /// The absolute address.
    let target: String
    /// The relations, in lower case.
    let relations: [String]

    /// Maximum number of links that are read from one reply.
    private static let maximumLinks = 64

    /// Reads the header fields of one reply, whose address is the base of relative targets.
    ///
    /// Malformed parts are skipped.
    static func links(_ fields: [String], base: String) -> [LinkField] {
        var links: [LinkField] = []
        for field in fields {
            var rest = Array(field.utf8)[...]
            while links.count < maximumLinks, let start = rest.firstIndex(of: UInt8(ascii: "<")),
                let end = rest[start...].firstIndex(of: UInt8(ascii: ">"))
            {
                let target = String(decoding: rest[rest.index(after: start)..<end], as: UTF8.self)
                rest = rest[rest.index(after: end)...]
                var relation: String?
                while let parameter = parameter(&rest) {
                    // Only the first `rel` counts (§3.3).
                    if parameter.name == "rel" { relation = relation ?? parameter.value }
                }
                guard let address = URL(string: target, relativeTo: URL(string: base))?.absoluteString, let relation
                else { continue }
                let relations = relation.lowercased().split { $0 == " " || $0 == "\t" }
                links.append(LinkField(target: address, relations: relations.map(String.init)))
            }
        }
        return links
    }

    /// Returns the next `; name=value`; `nil` at the end of a link.
    private static func parameter(_ rest: inout ArraySlice<UInt8>) -> (name: String, value: String)? {
        rest = rest.drop(while: isSpace)
        guard rest.first == UInt8(ascii: ";") else { return nil }
        rest = rest.dropFirst().drop(while: isSpace)
        let name = rest.prefix { !isSpace($0) && !"=;,".utf8.contains($0) }
        rest = rest[name.endIndex...].drop(while: isSpace)
        var value: [UInt8] = []
        if rest.first == UInt8(ascii: "=") {
            rest = rest.dropFirst().drop(while: isSpace)
            value = rest.first == UInt8(ascii: "\"") ? quoted(&rest) : plain(&rest)
        }
        return (String(decoding: name, as: UTF8.self).lowercased(), String(decoding: value, as: UTF8.self))
    }

    private static func plain(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        let value = rest.prefix { !isSpace($0) && $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") }
        rest = rest[value.endIndex...]
        return Array(value)
    }

    private static func quoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var value: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
                value.append(escaped)
            } else {
                value.append(byte)
            }
        }
        return value
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
