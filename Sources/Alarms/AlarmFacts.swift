package import HubProtocol

/// The observations at one time that alarms are computed from.
package struct AlarmFacts: Sendable, Equatable {
    package struct Feed: Sendable, Equatable {
        package let publisher: String
        package let url: String
        /// The start of the failure; `nil` for a feed that can be read.
        package let failingSince: Timestamp?

        package init(publisher: String, url: String, failingSince: Timestamp?) {
            (self.publisher, self.url, self.failingSince) = (publisher, url, failingSince)
        }
    }

    /// The log position of each category's newest message; `nil` if no message is known.
    package var categories: [String: LogSequence?] = [:]
    /// The time of each publisher's last report.
    package var publishers: [String: Timestamp] = [:]
    /// Publishers that a timer or a person starts, at intervals that the hub does not know.
    package var startedPublishers: Set<String> = []
    /// The feeds in their publishers' last reports.
    package var feeds: [Feed] = []
    /// Expected agents and services; true for those that are connected.
    package var agents: [String: Bool] = [:]
    package var credentials: [String: Timestamp] = [:]
    /// The reasons why credentials cannot be used or are refused, by platform, or by platform and host.
    package var refusedCredentials: [String: String] = [:]
    package var certificates: [String: Timestamp] = [:]
    /// Number of copies that the log of several hubs lacks.
    package var missingReplicas = 0
    /// The reasons why hubs that share the log must not have duties, by their names in it.
    package var unfitHubs: [String: String] = [:]
    /// Number of messages dropped because the log was full, since the hub was created.
    package var dropped: Int64 = 0

    package init() {}
}
