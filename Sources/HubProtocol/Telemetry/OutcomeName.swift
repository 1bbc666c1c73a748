/// The outcome of a message at one target, in the words of the protocol's telemetry.
///
/// Open vocabulary: the service's own list has gaps.
///
/// Source: protocol §5.6.
package struct OutcomeName: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package var description: String { rawValue }

    package static let success = OutcomeName(rawValue: "Success")
    /// Given up: the message was not tried, or not in time.
    package static let abandoned = OutcomeName(rawValue: "AbandonedNotificationMessages")
    package static let badChannel = OutcomeName(rawValue: "BadChannel")
    package static let dropped = OutcomeName(rawValue: "Dropped")
    package static let expiredChannel = OutcomeName(rawValue: "ExpiredChannel")
    package static let invalidCredentials = OutcomeName(rawValue: "InvalidCredentials")
    package static let invalidNotificationFormat = OutcomeName(rawValue: "InvalidNotificationFormat")
    package static let invalidNotificationSize = OutcomeName(rawValue: "InvalidNotificationSize")
    /// Nothing had to be sent: the same message reaches the handle in another way too, or has no text for it.
    package static let skipped = OutcomeName(rawValue: "Skipped")
    package static let throttled = OutcomeName(rawValue: "Throttled")
    package static let unknownError = OutcomeName(rawValue: "UnknownError")
    package static let wrongToken = OutcomeName(rawValue: "WrongToken")
}
