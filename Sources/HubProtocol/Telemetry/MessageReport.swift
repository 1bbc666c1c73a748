/// The outcome of a message: the answer of our own route `GET /{hub}/deliveries/{message}` (protocol §11.5).
///
/// Instants are ISO 8601 in UTC. Positions are those of the hub's log.
package struct MessageReport: Sendable, Equatable, Codable {
    package let id: MessageID
    /// Absent for a template message.
    package let format: MessageFormat?
    /// The time at which the hub accepted it, also for a scheduled message.
    package let acceptedAt: String
    /// The end of its delivery; absent before it is sent.
    package var expiresAt: String?
    /// Absent before it is sent.
    package var position: LogSequence?
    /// The scheduled time; absent for a message that was sent at once.
    package var dueAt: String?
    package var canceledAt: String?
    /// The tag expression as it was sent; absent for a broadcast and a direct send.
    package var tags: String?
    /// Number of handles that it was sent to directly; absent if it was sent by tags.
    package var handles: Int?
    /// True for a test send, which goes to at most ten of the devices that match; absent otherwise.
    package var isTest: Bool?
    /// Its headers for push services; absent if there are none.
    package var headers: [String: String]?
    package let state: MessageState
    /// Number of targets on each platform when it was sent; absent if the hub did not count yet.
    ///
    /// Targets of platform `stream` are installations, those of other platforms registrations.
    package var matched: [String: Int]?
    package var streams: StreamOutcomes
    /// Number of targets on each platform by outcome, in the words of the protocol's telemetry; pending targets are not
    /// among them.
    package var outcomes: [String: [String: Int]]?
    /// The times to its deliveries by platform, as far as the node knows them; absent in a list.
    ///
    /// A node knows those of its own streams.
    package var times: [String: Times]?
    /// Its title as pages show it, one line; absent if it has none, for a native message, and if ``withheld`` is present.
    package var title: String?
    /// Its text as pages show it; the beginning of it in a list.
    ///
    /// It is absent as ``title`` is, and if it adds nothing to the title.
    package var text: String?
    /// The properties of a template message; absent as ``title`` is, and in a list.
    package var properties: [String: String]?
    /// The reason why an operator does not see title and text; absent if there is none.
    package var withheld: Withheld?
    /// Present if the request named a device.
    package var device: DeviceReport?

    /// Seconds from the acceptance of a message to its deliveries at the streams that were open then, or to the answers of a
    /// push service.
    package struct Times: Sendable, Equatable, Codable {
        package let first: Double
        /// Absent while it is being delivered.
        package let last: Double?

        package init(first: Duration, last: Duration?) {
            self.first = Double(first.milliseconds) / 1_000
            self.last = last.map { Double($0.milliseconds) / 1_000 }
        }
    }

    /// A reason why the content of a message is not shown; readers must accept others.
    package struct Withheld: RawRepresentable, Sendable, Hashable, Codable {
        /// Only its addressee can read the text, which the app backend has.
        package static let secure = Withheld(rawValue: "secure")
        /// It was sent to persons or devices.
        package static let personal = Withheld(rawValue: "personal")

        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }
    }

    package init(
        id: MessageID,
        format: MessageFormat,
        acceptedAt: String,
        state: MessageState,
        streams: StreamOutcomes = StreamOutcomes()
    ) {
        self.id = id
        self.format = format == .template ? nil : format
        self.acceptedAt = acceptedAt
        self.state = state
        self.streams = streams
    }
}

/// The newest messages: the answer of `GET /{hub}/deliveries`.
package struct MessageReports: Sendable, Equatable, Codable {
    /// Newest first, after those that wait for their time.
    package let messages: [MessageReport]

    package init(messages: [MessageReport]) { self.messages = messages }
}

/// The outcome of a message at the `stream` installations among its recipients.
package struct StreamOutcomes: Sendable, Equatable, Codable {
    /// Number of recipients that are still registered; each is counted as written, pending, expired or too large.
    package var matched = 0
    /// Number of recipients whose streams were written up to the message or beyond.
    package var written = 0
    /// Number of these that reconnected with a cursor at or after the message, which proves that it arrived.
    package var resumedPast = 0
    /// Number of recipients for which the message is pending.
    package var pending = 0
    /// Number of recipients for which the message expired before it was written.
    package var expired = 0
    /// Number of recipients that get a gap instead, because their templates render too much; absent for none.
    package var tooLarge: Int?
    /// Number of recipients that were removed since; the outcome there is not known.
    package var gone = 0

    package init() {}

    private enum CodingKeys: String, CodingKey {
        case matched, written, resumedPast, expired, tooLarge, gone
        case pending = "owed"
    }
}
