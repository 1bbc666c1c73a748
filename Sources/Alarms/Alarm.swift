package import HubProtocol

/// A condition that is reported to operators once when it begins and once when it ends.
package struct Alarm: Sendable, Hashable, Codable {
    package enum Kind: String, Sendable, Codable, CaseIterable {
        /// A category has had no message for longer than ever before, or than the configured time.
        case silentCategory
        /// A feed could not be read for a day.
        case failingFeed
        /// A publisher has stopped reporting.
        case silentPublisher
        /// An expected agent or service is not connected.
        case absentAgent
        /// A credential for a push service is about to expire.
        case expiringCredential
        /// A credential for a push service cannot be used, or its service refuses it.
        case refusedCredential
        /// A certificate is about to expire.
        case expiringCertificate
        /// The hub drops messages before they expire, because its log is full.
        case droppedMessages
        /// Too few servers have every entry of the log that several hubs share.
        case missingReplicas
        /// One of several hubs must not have duties, because of its clock or its key.
        case unfitHub
    }

    package let kind: Kind
    /// The name of the category, feed or other object; empty for the hub as a whole.
    package let subject: String

    package init(_ kind: Kind, _ subject: String = "") { (self.kind, self.subject) = (kind, subject) }
}

/// The known facts about an alarm.
package struct AlarmFinding: Sendable, Hashable, Codable {
    /// The time at which the condition began; for an expiry, the time at which it was noticed.
    package let since: Timestamp
    /// The expiry time.
    package var deadline: Timestamp?
    /// The publisher that reported the condition.
    package var publisher: String?
    /// The reason that a push service or the hub gave; one line.
    package var reason: String?
}

/// A change to report.
package struct AlarmChange: Sendable, Equatable {
    package let alarm: Alarm
    package let isRaised: Bool

    package static func raised(_ alarm: Alarm) -> AlarmChange { AlarmChange(alarm: alarm, isRaised: true) }
    package static func cleared(_ alarm: Alarm) -> AlarmChange { AlarmChange(alarm: alarm, isRaised: false) }
}

/// The durations after which conditions become alarms.
package struct AlarmRules: Sendable, Equatable {
    /// Silences by category; other categories are judged by their own history.
    package var silences: [String: Duration] = [:]
    /// The shortest silence that becomes an alarm, unless one is configured.
    package var shortestSilence: Duration = .seconds(6 * 3_600)
    /// The time for which a category is watched before its silences count: a week includes nights and a Sunday.
    package var learning: Duration = .seconds(7 * 86_400)
    package var feedFailure: Duration = .seconds(86_400)
    /// The silence of a publisher that becomes an alarm: three reports of an idle publisher.
    package var publisherSilence: Duration = .seconds(1_800)
    /// The time over which a publisher with an external schedule must have reported before its silence counts.
    ///
    /// A publisher that was only tried by hand does not raise an alarm.
    package var publisherLearning: Duration = .seconds(86_400)
    /// The longest silence of a publisher with an external schedule: a day, and an hour of grace for a daily timer.
    ///
    /// Its silence is an alarm after twice its longest pause so far, and after this time at the latest.
    package var longestPublisherSilence: Duration = .seconds(25 * 3_600)
    package var agentAbsence: Duration = .seconds(3_600)
    /// The time before the expiry of a credential or certificate.
    package var expiryNotice: Duration = .seconds(14 * 86_400)
    /// The time after the last dropped message at which the alarm ends.
    package var dropPause: Duration = .seconds(3_600)
    /// The time for which the shared log lacks a replica: a server that is restarted is back earlier.
    package var replicaLoss: Duration = .seconds(600)
    /// The time for which a hub must not have duties: a clock that is being set, or a hub that starts, is not reported.
    package var unfitness: Duration = .seconds(120)
    /// The time after a start, a restore or a clock jump in which no alarm is raised, since many clients are not back
    /// yet.
    package var settling: Duration = .seconds(900)

    package init() {}
}
