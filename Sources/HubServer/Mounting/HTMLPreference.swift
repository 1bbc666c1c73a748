/// Tells browsers from clients of the API, which get the same errors in XML.
///
/// Source: RFC 9110 §12.5.1 (`Accept`).
enum HTMLPreference {
    private static let mediaType = "text/html"

    /// True if the values of `Accept` name HTML.
    ///
    /// A range such as `*/*` does not count: clients of the API send it.
    static func isStated(in values: some Sequence<some StringProtocol>) -> Bool {
        values.contains { String($0).split(separator: ",").contains(where: names) }
    }

    private static func names(_ range: Substring) -> Bool {
        let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
        guard parts.first == mediaType else { return false }
        // A weight of 0 means "not acceptable".
        let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
        return weight.map { $0 > 0 } ?? true
    }
}
