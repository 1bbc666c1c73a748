/// The reason why a device got a message, or did not.
package struct DeviceReport: Sendable, Equatable, Codable {
    /// The installation's id, or the push handle that was asked for.
    package let id: String
    package let outcome: DeviceOutcome
    /// The same for people: sentences, the most important one first.
    package var explanation: [String]
    package var platform: Platform?
    package var registeredAt: String?
    /// The time of its first change after the message.
    package var changedAt: String?
    /// Its tags when the message came, without those of single templates; absent if it was not registered then.
    package var tags: [String]?
    /// Its current tags, if they differ.
    package var tagsNow: [String]?
    /// Its templates when the message came.
    package var templates: [TemplateReport]?
    /// On push platforms: each of its registrations.
    package var registrations: [RegistrationReport]?
    package var stream: StreamReport?

    package init(id: String, outcome: DeviceOutcome, explanation: [String]) {
        self.id = id
        self.outcome = outcome
        self.explanation = explanation
    }
}

/// The outcome of a message at one device.
package struct DeviceOutcome: RawRepresentable, Sendable, Hashable, Codable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// The message waits for its time, or was canceled before it.
    package static let notSent = DeviceOutcome(rawValue: "notSent")
    package static let notRegistered = DeviceOutcome(rawValue: "notRegistered")
    package static let registeredLater = DeviceOutcome(rawValue: "registeredLater")
    package static let notMatched = DeviceOutcome(rawValue: "notMatched")
    /// Matched, and was not sent: the hub does not deliver to the platform, or the push service did not accept it.
    package static let notDelivered = DeviceOutcome(rawValue: "notDelivered")
    /// Its push service has accepted the message.
    package static let sent = DeviceOutcome(rawValue: "sent")
    /// Its templates rendered more than the hub sends.
    package static let tooLarge = DeviceOutcome(rawValue: "tooLarge")
    package static let pending = DeviceOutcome(rawValue: "owed")
    package static let expired = DeviceOutcome(rawValue: "expired")
    package static let written = DeviceOutcome(rawValue: "written")
    package static let resumedPast = DeviceOutcome(rawValue: "resumedPast")
}

/// One template of a device, as a message found it.
package struct TemplateReport: Sendable, Equatable, Codable {
    package let name: String
    /// Its own tags, in addition to those of the installation.
    package let tags: [String]
    package let matches: Bool
    /// True if it shows nothing of the message.
    package let isEmpty: Bool
    /// Absent for a broadcast.
    package let expression: TagEvaluation?

    package init(name: String, tags: [String], matches: Bool, isEmpty: Bool, expression: TagEvaluation?) {
        self.name = name
        self.tags = tags
        self.matches = matches
        self.isEmpty = isEmpty
        self.expression = expression
    }
}

/// One registration of a device, as a message found it.
package struct RegistrationReport: Sendable, Equatable, Codable {
    /// Absent for a part of an installation that no longer exists.
    package var id: RegistrationID?
    package let platform: Platform
    /// The template's name; absent for a native registration.
    package var template: String?
    /// The secondary tile; absent for the device's own channel.
    package var tile: String?
    /// The installation that it belongs to; absent for a registration of its own.
    package var installation: InstallationID?
    /// Its tags when the message came.
    package var tags: [String]
    /// Its current tags, if they differ.
    package var tagsNow: [String]?
    /// True if the message was for it.
    package let matches: Bool
    /// The reason for ``matches``, for people.
    package let reason: String
    /// Absent where no expression decided.
    package var expression: TagEvaluation?

    package init(platform: Platform, tags: [String], matches: Bool, reason: String) {
        self.platform = platform
        self.tags = tags
        self.matches = matches
        self.reason = reason
    }
}

/// The progress of a device's stream.
package struct StreamReport: Sendable, Equatable, Codable {
    package var isOpen: Bool
    /// The position up to which everything was written to it; absent if it was never open.
    package var position: LogSequence?
    /// The last cursor that the device sent.
    package var resumedFrom: String?
    package var connectedAt: String?
    package var disconnectedAt: String?
    /// The time when a newer stream last replaced an open one.
    package var replacedAt: String?
    /// The time when the hub last ended it because its key or secret was no longer valid.
    package var revokedAt: String?

    package init(isOpen: Bool) { self.isOpen = isOpen }
}
