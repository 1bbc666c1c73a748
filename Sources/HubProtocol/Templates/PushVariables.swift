/// A device's own values for properties that a message lacks, as templates look them up.
///
/// Source: protocol §7.3.
package struct PushVariables: Sendable, Hashable {
    package static let none = PushVariables([:])

    /// By name in lower case.
    private let values: [String: String]

    /// Reads names in any case; of several that differ only in case, the one that sorts first.
    package init(_ variables: [String: String]) {
        values = Dictionary(
            variables.sorted { $0.key < $1.key }.map { ($0.key.lowercased(), $0.value) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// `name` must be in lower case already.
    func value(lowercased name: String) -> String? { values[name] }

    /// The variables with the given names, which are in lower case.
    package func named(_ names: Set<String>) -> PushVariables {
        PushVariables(values.filter { names.contains($0.key) })
    }

    /// Bytes of all values.
    package var bytes: Int { values.values.reduce(0) { $0 + $1.utf8.count } }
}
