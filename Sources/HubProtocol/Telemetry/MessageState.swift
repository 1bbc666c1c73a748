/// The progress of a message, in the words of the protocol's telemetry.
///
/// One SDK throws on any other text, such as the other spelling of `Canceled`.
///
/// Source: protocol §5.6.
package struct MessageState: RawRepresentable, Sendable, Hashable, Codable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// Accepted, and not processed yet.
    package static let enqueued = MessageState(rawValue: "Enqueued")
    /// Pending for at least one device.
    package static let processing = MessageState(rawValue: "Processing")
    /// It was sent to every recipient that is still registered.
    package static let completed = MessageState(rawValue: "Completed")
    /// It will not be sent any more, and a recipient did not get it: it expired, or this hub does not deliver to the
    /// platform.
    package static let abandoned = MessageState(rawValue: "Abandoned")
    /// It matched nobody.
    package static let noTargetFound = MessageState(rawValue: "NoTargetFound")
    /// Its recipients are gone or were not counted.
    package static let unknown = MessageState(rawValue: "Unknown")
    /// It waits for its time.
    package static let scheduled = MessageState(rawValue: "Scheduled")
    /// It was canceled before its time.
    package static let canceled = MessageState(rawValue: "Canceled")

    package static let known: [MessageState] = [
        .enqueued, .processing, .completed, .abandoned, .noTargetFound, .unknown, .scheduled, .canceled,
    ]
}
