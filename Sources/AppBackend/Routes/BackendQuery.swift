import HubProtocol

/// The query of a request.
///
/// A `+` is kept: push handles contain it, and the tutorials' clients do not escape it.
struct BackendQuery: Sendable {
    private let values: [String: String]

    /// - Parameter text: The query without the question mark.
    /// - Throws: 400 for a duplicate name, since two readers could use different values.
    init(_ text: String?) throws(BackendRefusal) {
        var values: [String: String] = [:]
        for pair in text?.split(separator: "&") ?? [] {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = (PercentEncoding.decode(parts[0]) ?? String(parts[0])).lowercased()
            guard let value = PercentEncoding.decode(parts.count == 2 ? parts[1] : "") else {
                throw .badRequest("The value of '\(name.excerpt)' in the query is not valid percent-encoding.")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw .badRequest("The query has '\(name.excerpt)' twice.")
            }
        }
        self.values = values
    }

    /// The value of a parameter; `name` is in lower case and matches any case.
    ///
    /// A parameter without `=` has an empty value.
    subscript(_ name: String) -> String? { values[name] }
}
