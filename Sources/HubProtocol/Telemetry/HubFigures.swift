/// The events at a hub in a minute or an hour, and its state at the end.
package struct HubFigures: Sendable, Equatable, Codable {
    /// The length of time that one record is about, in seconds.
    package enum Span: Int64, Sendable, CaseIterable {
        case minute = 60
        case hour = 3_600

        /// Time after which a record is deleted.
        package var kept: Duration {
            switch self {
            case .minute: .seconds(3 * 86_400)
            case .hour: .seconds(90 * 86_400)
            }
        }

        /// The beginning of the span that contains a time.
        package func start(of time: Timestamp) -> Timestamp {
            Timestamp(milliseconds: time.seconds / rawValue * rawValue * 1_000)
        }
    }

    /// Number of messages that the hub accepted.
    package var accepted = 0
    /// Number of messages written to streams, counted for each stream.
    package var written = 0
    /// Number of targets of push services with a final outcome, by outcome.
    package var outcomes: [String: Int] = [:]
    /// The times from the acceptance of a message to its last delivery, by platform: the write to the last stream that was
    /// open when it was accepted, or the last answer of the push service.
    package var times: [String: TimeHistogram] = [:]
    /// Number of registrations by platform, at the end.
    package var registrations: [String: Int] = [:]
    /// Number of open streams, at the end.
    package var streams = 0
    /// The size of the messages in the server's log, for all of its hubs, at the end; 0 if it is not known.
    package var logBytes = 0
    /// The space that is left on the disk of the hub's database, in bytes, at the end; 0 if it is not known.
    package var freeBytes = 0

    package init() {}

    /// Reads a record, also of a version that had fewer figures.
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        accepted = try values.decodeIfPresent(Int.self, forKey: .accepted) ?? 0
        written = try values.decodeIfPresent(Int.self, forKey: .written) ?? 0
        outcomes = try values.decodeIfPresent([String: Int].self, forKey: .outcomes) ?? [:]
        times = try values.decodeIfPresent([String: TimeHistogram].self, forKey: .times) ?? [:]
        registrations = try values.decodeIfPresent([String: Int].self, forKey: .registrations) ?? [:]
        streams = try values.decodeIfPresent(Int.self, forKey: .streams) ?? 0
        logBytes = try values.decodeIfPresent(Int.self, forKey: .logBytes) ?? 0
        freeBytes = try values.decodeIfPresent(Int.self, forKey: .freeBytes) ?? 0
    }

    /// True if nothing happened.
    package var isIdle: Bool { accepted == 0 && written == 0 && outcomes.isEmpty && times.isEmpty }

    /// Returns the sums of this and a later record, with the state at the end of the later one.
    package func adding(_ later: HubFigures) -> HubFigures {
        var sum = later
        sum.accepted += accepted
        sum.written += written
        sum.outcomes.merge(outcomes, uniquingKeysWith: +)
        sum.times.merge(times, uniquingKeysWith: +)
        return sum
    }

    /// Returns the sums of this record and of another node's for the same time; what all nodes have is of this one.
    package func beside(_ other: HubFigures) -> HubFigures {
        var sum = other.adding(self)
        sum.streams += other.streams
        return sum
    }
}
