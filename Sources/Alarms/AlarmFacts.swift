package import HubProtocol

/// The observations that alarms are computed from, at one moment.
package struct AlarmFacts: Sendable, Equatable {
    package struct Feed: Sendable, Equatable {
        package let publisher: String
        package let url: String
        /// `nil` for a feed that is well.
        package let failingSince: Timestamp?

        package init(publisher: String, url: String, failingSince: Timestamp?) {
            (self.publisher, self.url, self.failingSince) = (publisher, url, failingSince)
        }
    }

    /// The place of the newest message of each category in the log; absent without one.
    package var categories: [String: LogSequence?] = [:]
    /// When each publisher last reported.
    package var publishers: [String: Timestamp] = [:]
    /// Publishers that do not stay: a timer or a person starts them, at intervals that the hub does not know.
    package var startedPublishers: Set<String> = []
    /// As their publishers last reported.
    package var feeds: [Feed] = []
    /// Agents and services that should be there, and whether they are.
    package var agents: [String: Bool] = [:]
    package var credentials: [String: Timestamp] = [:]
    package var certificates: [String: Timestamp] = [:]
    /// Messages dropped for size since the hub was made.
    package var dropped: Int64 = 0

    package init() {}
}
