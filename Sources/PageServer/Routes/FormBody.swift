import HubProtocol

/// The body of a form, in `application/x-www-form-urlencoded`.
///
/// Source: URL Standard §5.1.
struct FormBody: Sendable {
    /// The largest body in bytes; our own forms are smaller.
    static let maximum = 32_768

    private let pairs: [(name: String, value: String)]

    /// A form without fields.
    static let empty = FormBody(pairs: [])

    private init(pairs: [(name: String, value: String)]) { self.pairs = pairs }

    /// Parses a body; `nil` if it is not UTF-8.
    init?(_ bytes: some Collection<UInt8>) {
        var pairs: [(String, String)] = []
        for part in bytes.split(separator: UInt8(ascii: "&")) {
            let sides = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.text(sides[0]), let value = sides.count == 2 ? Self.text(sides[1]) : "" else {
                return nil
            }
            pairs.append((name, value))
        }
        self.pairs = pairs
    }

    /// The first value of a field.
    subscript(_ name: String) -> String? { pairs.first { $0.name == name }?.value }

    func all(_ name: String) -> [String] { pairs.filter { $0.name == name }.map(\.value) }

    private static func text(_ bytes: some Collection<UInt8>) -> String? {
        let spaced = bytes.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return String(validating: spaced, as: UTF8.self).flatMap { PercentEncoding.decode($0) }
    }
}
