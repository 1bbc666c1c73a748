package import HubProtocol

/// A condition that is reported to operators once when it begins and once when it ends.
package struct Alarm: Sendable, Hashable, Codable {
    package enum Kind: String, Sendable, Codable, CaseIterable {
        /// No message came for a category for longer than ever, or than was set.
        case silentCategory
        /// A feed has brought nothing readable for a day.
        case failingFeed
        /// A publisher does not report.
        case silentPublisher
        /// An agent or a service that should be there is not connected.
        case absentAgent
        /// A credential for a push service is about to expire.
        case expiringCredential
        /// A certificate is about to expire.
        case expiringCertificate
        /// The hub drops messages before they expire, because its log is full.
        case droppedMessages
    }

    package let kind: Kind
    /// The name of what it is about; empty for the hub as a whole.
    package let subject: String

    package init(_ kind: Kind, _ subject: String = "") { (self.kind, self.subject) = (kind, subject) }
}

/// When a condition began, and what else is known of it.
package struct AlarmFinding: Sendable, Hashable, Codable {
    /// For what expires, when it was noticed.
    package let since: Timestamp
    /// When something expires.
    package var deadline: Timestamp?
    /// The publisher that has reported it.
    package var publisher: String?

    package init(since: Timestamp, deadline: Timestamp? = nil, publisher: String? = nil) {
        (self.since, self.deadline, self.publisher) = (since, deadline, publisher)
    }
}

/// A change to report.
package enum AlarmChange: Sendable, Equatable {
    case raised(Alarm)
    case cleared(Alarm)

    package var alarm: Alarm {
        switch self {
        case .raised(let alarm), .cleared(let alarm): alarm
        }
    }

    package var isRaised: Bool {
        switch self {
        case .raised: true
        case .cleared: false
        }
    }
}

/// How long something may last before it is an alarm.
package struct AlarmRules: Sendable, Equatable {
    /// By category; the others are judged by what they are used to.
    package var silences: [String: Duration] = [:]
    /// Below this no silence is an alarm unless it is set.
    package var shortestSilence: Duration = .seconds(6 * 3_600)
    /// How long a category is watched before its silences count: a week has its nights and its Sunday.
    package var learning: Duration = .seconds(7 * 86_400)
    package var feedFailure: Duration = .seconds(86_400)
    /// Three reports of a publisher that has nothing to tell.
    package var publisherSilence: Duration = .seconds(1_800)
    /// How long a publisher that something else starts has to have reported before its silence counts: one that was tried
    /// by hand is not missed.
    package var publisherLearning: Duration = .seconds(86_400)
    /// A publisher that something else starts is missed after twice its longest pause, and at the latest after a day and
    /// an hour of grace for a daily timer.
    package var longestPublisherSilence: Duration = .seconds(25 * 3_600)
    package var agentAbsence: Duration = .seconds(3_600)
    /// Before a credential or a certificate expires.
    package var expiryNotice: Duration = .seconds(14 * 86_400)
    /// How long after the last dropped message the alarm ends.
    package var dropPause: Duration = .seconds(3_600)
    /// After a start, a restore or a jump of the clock nothing is raised for so long: much is not back yet.
    package var settling: Duration = .seconds(900)

    package init() {}
}
