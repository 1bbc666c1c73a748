/// A labelled value of a report, for an operator's page or a terminal.
package struct ReportFact: Sendable, Equatable {
    /// The label, as pages show it.
    package let name: String
    /// The value; further lines for parts that belong to it.
    package let value: String
    /// True if an operator should look at it.
    package let isBad: Bool

    /// Creates a fact; `nil` for a value that the report does not have.
    package init?(_ name: String, _ value: String?, isBad: Bool = false) {
        guard let value else { return nil }
        self.name = name
        self.value = value
        self.isBad = isBad
    }
}

extension [ReportFact] {
    /// Creates one fact for each key, in the order of the keys.
    init<Value>(_ values: [String: Value]?, _ name: (String) -> String, _ value: (String, Value) -> String) {
        self = (values ?? [:]).sorted { $0.key < $1.key }.compactMap { ReportFact(name($0), value($0, $1)) }
    }
}
