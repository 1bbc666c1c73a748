import HubProtocol

/// The query of a request.
///
/// A `+` stays one: push handles hold it, and the tutorials' clients escape nothing.
struct BackendQuery: Sendable {
    private let values: [String: String]

    /// - Parameter text: Without the question mark.
    /// - Throws: 400 for a name that appears twice, of which two readers would take different values.
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

    /// The value under a name in lower case, whatever the case in the query; empty for a bare name.
    subscript(_ name: String) -> String? { values[name] }
}
