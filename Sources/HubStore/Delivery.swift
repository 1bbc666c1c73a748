import GRDB
package import HubProtocol
package import HubRouting

/// A message for one platform.
package struct DeliveryKey: Sendable, Hashable {
    package let sequence: LogSequence
    /// Folded, as in the table.
    package let platform: Platform

    package init(sequence: LogSequence, platform: Platform) {
        self.sequence = sequence
        self.platform = platform.folded
    }

    /// Few messages are for several platforms, so the sequence is enough.
    package func hash(into hasher: inout Hasher) { hasher.combine(sequence) }
}

/// A message on its way to a push service.
package struct Delivery: Sendable, Equatable {
    package let key: DeliveryKey
    /// True if the targets are positions in the message's list of handles instead of registrations.
    package let isDirect: Bool
    /// The audience of handles that the hub's credential reached when the message was accepted; `nil` if unknown.
    package let audience: String?
    package let total: Int
    /// Number of targets without a final outcome.
    package let remaining: Int
    /// The time of the first attempt.
    package let beganAt: Timestamp?
    /// The time of the last final outcome.
    package let endedAt: Timestamp?
    /// The outcome of the targets that were left when the delivery ended.
    package let endedAs: OutcomeName?
    /// The reason for ``endedAs``, if the outcome alone does not explain it.
    let ownEndReason: String?
    /// The time at which the hub accepted the message; `nil` if the query did not ask for it.
    package var acceptedAt: Timestamp?
}

/// Up to 65,536 targets of a delivery.
package struct DeliveryBlock: Sendable, Equatable {
    package let number: Int64
    package let targets: OrdinalSet
    /// Targets with a final outcome.
    package let done: OrdinalSet
}

/// A target that is to be sent a message again.
package struct DeliveryRetry: Sendable, Equatable {
    package let key: DeliveryKey
    package let ordinal: Ordinal
    /// Number of attempts so far.
    package let attempts: Int
    package let dueAt: Timestamp
    /// The reason why the last attempt failed.
    package let reason: String
    package let collapseKey: String?
    /// The paused host that the target waits for, until ``dueAt`` at the latest; `nil` if it only waits for its time.
    package let host: String?

    package init(
        key: DeliveryKey,
        ordinal: Ordinal,
        attempts: Int,
        dueAt: Timestamp,
        reason: String,
        collapseKey: String? = nil,
        host: String? = nil
    ) {
        self.key = key
        self.ordinal = ordinal
        self.attempts = attempts
        self.dueAt = dueAt
        self.reason = reason
        self.collapseKey = collapseKey
        self.host = host
    }
}

extension Delivery {
    /// The reason why the targets that were left when the delivery ended were not sent the message.
    var endReason: String {
        if let ownEndReason { return ownEndReason }
        return switch endedAs {
        case .wrongToken: "the hub's credential is now for another app"
        case .invalidCredentials: "the credential was refused until the message expired"
        case .invalidNotificationFormat: "the message cannot be read"
        default: "the message expired before it was sent to the device"
        }
    }
}

/// A target that was not sent a message, and the reason.
package struct DeliveryFailure: Sendable, Equatable {
    package let ordinal: Ordinal
    package let outcome: OutcomeName
    /// One line, for people.
    package let reason: String
    /// The handle that the push service reported dead; `nil` if the failure has another reason.
    package var deadHandle: String?

    package init(ordinal: Ordinal, outcome: OutcomeName, reason: String, deadHandle: String? = nil) {
        self.ordinal = ordinal
        self.outcome = outcome
        self.reason = reason
        self.deadHandle = deadHandle
    }
}

/// A target that was not sent a message, with its current registration.
package struct FailedTarget: Sendable, Equatable {
    package let failure: DeliveryFailure
    package let at: Timestamp
    /// `nil` for a handle of a direct send, and for a registration that was removed without a trace.
    package var registration: RegistrationID?
    package var installation: InstallationID?
    /// The dead handle; otherwise the registration's current handle, or its last one before it was removed.
    package var handle: String?
}

/// The state of a message at one target of a push service.
package enum TargetState: Sendable, Equatable {
    case failed(DeliveryFailure)
    /// The target waits for its first attempt, or for the next one.
    case waits(DeliveryRetry?)
    /// The delivery to this target has ended, and no failure is known.
    case ended
}

/// Changes of one delivery's targets since progress was last stored.
package struct DeliveryProgress: Sendable, Equatable {
    /// Final outcomes.
    package var done: [Ordinal: OutcomeName] = [:]
    /// Failures among ``done``; a failed outcome may have none.
    package var failures: [DeliveryFailure] = []
    /// Retries; each replaces an earlier one of its target.
    package var retries: [DeliveryRetry] = []
    /// Targets that were sent a message whose collapse key makes their earlier messages obsolete.
    package var collapsed: [Ordinal: String] = [:]

    package init() {}

    package var isEmpty: Bool { done.isEmpty && retries.isEmpty }
}

/// The progress of a message on one platform.
package struct DeliveryState: Sendable, Equatable {
    package let delivery: Delivery
    package let outcomes: [OutcomeName: Int]
    /// Number of targets that wait for another attempt.
    package let retries: Int
}
