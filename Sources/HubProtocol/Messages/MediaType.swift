/// A `Content-Type` as clients write it: any case, blanks around `=`, values in quotes or not.
///
/// Source: protocol §5.1, §5.4.
struct MediaType: Sendable, Equatable {
    /// In lower case, without parameters; empty if the header is empty.
    let name: String
    /// By name in lower case; the first of two with the same name.
    private let parameters: [String: String]

    init(_ header: String) {
        let fields = Self.fields(header)
        name = (fields.first ?? "").trimmed.lowercased()
        var parameters: [String: String] = [:]
        for field in fields.dropFirst() {
            guard let equals = field.firstIndex(of: "=") else { continue }
            let name = field[..<equals].trimmed.lowercased()
            if parameters[name] == nil { parameters[name] = Self.unquoted(field[equals...].dropFirst().trimmed) }
        }
        self.parameters = parameters
    }

    /// True for the types of RFC 7303.
    var isXML: Bool { ["application/xml", "text/xml"].contains(name) || name.hasSuffix("+xml") }

    var charset: String? { self["charset"] }

    /// The value of a parameter; `nil` if it is absent or empty.
    subscript(name: String) -> String? { parameters[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// The parts between semicolons outside quotes.
    private static func fields(_ header: String) -> [String] {
        var fields = [""]
        var isQuoted = false
        var isEscaped = false
        for character in header {
            if character == ";", !isQuoted {
                fields.append("")
                continue
            }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = character == "\\" && isQuoted && !isEscaped
            fields[fields.count - 1].append(character)
        }
        return fields
    }

    private static func unquoted(_ value: Substring) -> String {
        guard value.first == "\"" else { return String(value) }
        var text = ""
        var isEscaped = false
        for character in value.dropFirst() {
            if isEscaped || (character != "\\" && character != "\"") {
                text.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                break
            }
        }
        return text
    }
}
