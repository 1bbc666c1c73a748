import Formats

/// The fields of a query, or of a form in `application/x-www-form-urlencoded`, each decoded when it is read.
///
/// Source: URL Standard §5.1.
package struct FormFields: Sendable, Equatable {
    package static let contentType = "application/x-www-form-urlencoded"

    /// The fields as received.
    package let text: String
    private let ignoresCase: Bool

    /// - Parameters:
    ///   - query: Without the question mark.
    ///   - ignoresCase: True if a name matches in any case.
    package init(_ query: String?, ignoresCase: Bool = false) {
        text = query ?? ""
        self.ignoresCase = ignoresCase
    }

    /// Reads a body; `nil` if it is not UTF-8 in valid percent-encoding.
    package init?(body: some Sequence<UInt8>) {
        let text = String(validating: body, as: UTF8.self)
        guard let text, PercentEncoding.decode(text) != nil else { return nil }
        self.init(text)
    }

    /// Encodes fields.
    package init(_ fields: [(name: String, value: String)]) {
        let parts = fields.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
        self.init(parts.joined(separator: "&"))
    }

    /// The fields with their escapes; one without `=` has an empty value.
    package var escaped: some Sequence<(name: Substring, value: Substring)> {
        text.utf8.split(separator: UInt8(ascii: "&")).lazy.map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (name: Substring(parts[0]), value: parts.count == 2 ? Substring(parts[1]) : "")
        }
    }

    package var names: [String] { escaped.map { Self.decoded($0.name) } }

    /// The first value of a name, with each `+` as a space.
    ///
    /// A value that is not valid percent-encoding is returned unchanged.
    package subscript(_ name: String) -> String? { first(name).map(Self.decoded) }

    /// The first value of a name with each `+` unchanged: in a push handle it is not a space.
    package func literal(_ name: String) -> String? { first(name).map { PercentEncoding.decode($0) ?? String($0) } }

    package func all(_ name: String) -> [String] {
        escaped.filter { isCalled(name, $0.name) }.map { Self.decoded($0.value) }
    }

    private func first(_ name: String) -> Substring? { escaped.first { isCalled(name, $0.name) }?.value }

    private func isCalled(_ name: String, _ escaped: Substring) -> Bool {
        let own = Self.decoded(escaped)
        return own == name
            || ignoresCase && own.utf8.count == name.utf8.count && own.lowercased() == name.lowercased()
    }

    private static func decoded(_ text: Substring) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else {
            return String(text)
        }
        let spaced = text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return PercentEncoding.decode(String(decoding: spaced, as: UTF8.self)) ?? String(text)
    }
}
