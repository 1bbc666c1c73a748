import GRDB
package import HubProtocol
package import HubRouting

/// A message for one platform.
package struct DeliveryKey: Sendable, Hashable {
    package let sequence: LogSequence
    /// In lower case.
    package let platform: String

    package init(sequence: LogSequence, platform: String) {
        self.sequence = sequence
        self.platform = platform
    }
}

/// A message on its way to a push service.
package struct Delivery: Sendable, Equatable {
    package let key: DeliveryKey
    /// Its targets are places in the message's list of handles, not registrations.
    package let isDirect: Bool
    /// Whose handles the hub's credential reached when the message came; `nil` where that could not be told.
    package let audience: String?
    package let total: Int
    /// Targets without a final outcome.
    package let remaining: Int
    /// When the first target was sent it.
    package let beganAt: Timestamp?
    /// When the last target had its final outcome.
    package let endedAt: Timestamp?
    /// The outcome of those that were left at the end, if it came before they had one.
    package let endedAs: OutcomeName?
    /// Why, where ``endedAs`` leaves that open.
    let ownEndReason: String?
    /// When the hub took the message; `nil` if it was not asked for.
    package var acceptedAt: Timestamp?
}

/// Up to 65,536 targets of a delivery.
package struct DeliveryBlock: Sendable, Equatable {
    package let number: Int64
    package let targets: OrdinalSet
    /// Those with a final outcome.
    package let done: OrdinalSet
}

/// A target that is to be sent a message again.
package struct DeliveryRetry: Sendable, Equatable {
    package let key: DeliveryKey
    package let ordinal: Ordinal
    /// Attempts so far.
    package let attempts: Int
    package let dueAt: Timestamp
    /// Why the last attempt did not do.
    package let reason: String
    package let collapseKey: String?

    package init(
        key: DeliveryKey,
        ordinal: Ordinal,
        attempts: Int,
        dueAt: Timestamp,
        reason: String,
        collapseKey: String? = nil
    ) {
        self.key = key
        self.ordinal = ordinal
        self.attempts = attempts
        self.dueAt = dueAt
        self.reason = reason
        self.collapseKey = collapseKey
    }
}

extension Delivery {
    /// Why the targets that were left at the end were not sent the message.
    var endReason: String {
        if let ownEndReason { return ownEndReason }
        return switch endedAs {
        case .wrongToken: "the hub's credential is for another app since then"
        case .invalidCredentials: "the credential was refused until the message expired"
        case .invalidNotificationFormat: "the message cannot be read"
        default: "the message expired before the device was sent it"
        }
    }
}

/// A target that was not sent a message, and why.
package struct DeliveryFailure: Sendable, Equatable {
    package let ordinal: Ordinal
    package let outcome: OutcomeName
    /// One line, for people.
    package let reason: String
    /// What the push service has reported dead; `nil` if that is not why.
    package var deadHandle: String?

    package init(ordinal: Ordinal, outcome: OutcomeName, reason: String, deadHandle: String? = nil) {
        self.ordinal = ordinal
        self.outcome = outcome
        self.reason = reason
        self.deadHandle = deadHandle
    }
}

/// A target that was not sent a message, with what is known of it now.
package struct FailedTarget: Sendable, Equatable {
    package let failure: DeliveryFailure
    package let at: Timestamp
    /// `nil` for a handle of a direct send, and for what has gone without a trace.
    package var registration: RegistrationID?
    package var installation: InstallationID?
    /// The one that is dead, else that of the registration as it is, or as it was before it went.
    package var handle: String?
}

/// What has become of a message at one target of a push service.
package enum TargetStanding: Sendable, Equatable {
    case failed(DeliveryFailure)
    /// It waits for its first attempt, or for the next one.
    case waits(DeliveryRetry?)
    /// Nothing more happens, and no failure is known.
    case ended
}

/// What has become of some targets of one delivery since it was last written down.
package struct DeliveryProgress: Sendable, Equatable {
    /// Final outcomes.
    package var done: [Ordinal: OutcomeName] = [:]
    /// Of those, the ones that failed; there need not be one for each.
    package var failures: [DeliveryFailure] = []
    /// Each in the place of an earlier one of its target.
    package var retries: [DeliveryRetry] = []
    /// Targets that were sent a message with a key that makes their earlier ones superfluous.
    package var collapsed: [Ordinal: String] = [:]

    package init() {}

    package var isEmpty: Bool { done.isEmpty && retries.isEmpty }
}

/// How far a message is on one platform.
package struct DeliveryState: Sendable, Equatable {
    package let delivery: Delivery
    package let outcomes: [OutcomeName: Int]
    /// Targets that are to be sent it again.
    package let retries: Int
}
