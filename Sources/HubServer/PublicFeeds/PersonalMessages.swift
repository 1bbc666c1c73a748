import HubProtocol
import HubRouting
import HubStore
import Signals
import WebPages

/// The newest messages that name people's tags.
///
/// They follow the log: messages that were read for a person are kept, so that the next page view reads only later
/// ones. However often a page is reloaded, each message is examined once.
actor PersonalMessages {
    /// Maximum number of messages that are kept for one person.
    static let maximumMessages = 50
    /// Maximum number of messages that one request examines, in about 6 ms.
    static let maximumScan = 2_000
    private static let page = 500
    private static let maximumPeople = 1_000
    private static let maximumBytes = 16 << 20

    private struct Box {
        /// Newest first.
        var messages: [PersonalMessage] = []
        /// The highest sequence read.
        var through = LogSequence.start
        /// The time at which the present owner got the name; earlier messages may be for a former owner.
        let since: Timestamp

        var bytes: Int { messages.reduce(100) { $0 + $1.bytes } }
    }

    /// Number of messages of the log that were examined.
    private(set) var scanned = 0
    private var boxes = BoundedTable<Tag, Box>(maximumCount: maximumPeople, maximumBytes: maximumBytes)
    private let readings = SingleFlight<Tag, Box>()

    /// The newest messages since a time to the person of a tag, the newest first.
    ///
    /// - Throws: A `DatabaseError`.
    func messages(to tag: Tag, since: Timestamp, in hub: Hub) async throws -> [PersonalMessage] {
        let last = hub.status.lastMessage
        // Concurrent requests share one read.
        while let reading = readings[tag] { _ = await reading.result }
        let known = boxes[tag].flatMap { $0.since == since ? $0 : nil } ?? Box(since: since)
        guard known.through < last else {
            boxes.use(tag)
            return Self.shown(known, in: hub)
        }
        let (reading, _) = readings.join(tag) {
            let box = try await self.read(on: known, to: tag, through: last, in: hub)
            await self.keep(box, for: tag)
            return box
        }
        return Self.shown(try await reading.value, in: hub)
    }

    private func keep(_ box: Box, for tag: Tag) { boxes.keep(box, bytes: box.bytes, for: tag) }

    private static func shown(_ box: Box, in hub: Hub) -> [PersonalMessage] {
        let dropped = hub.status.droppedThrough
        return box.messages.filter { $0.sequence > dropped }
    }

    /// Reads the log backwards until it reaches known messages, has enough, or has examined ``maximumScan`` messages.
    private func read(on known: Box, to tag: Tag, through last: LogSequence, in hub: Hub) async throws -> Box {
        let after = max(known.through, hub.status.droppedThrough)
        var box = Box(through: last, since: known.since)
        var (through, room, isComplete) = (last, Self.maximumScan, false)
        while room > 0, box.messages.count < Self.maximumMessages, !isComplete {
            let found = try await hub.store.scanMessages(
                hub: hub.record.id,
                after: after,
                through: through,
                limit: min(Self.page, room)
            ) { Self.names(tag, $0) }
            scanned += found.count
            room -= Self.page
            for message in found.messages {
                // The log is in the order of time.
                guard message.at >= known.since, box.messages.count < Self.maximumMessages else { return box }
                if let personal = PersonalMessage(message) { box.messages.append(personal) }
            }
            isComplete = found.count < Self.page
            guard let lowest = found.lowest else { break }
            through = lowest.previous
        }
        // Known messages below an unread part would look as if none were missing.
        if isComplete || through <= after { box.messages += known.messages }
        box.messages = Array(box.messages.prefix(Self.maximumMessages))
        return box
    }

    /// True if a device whose only tag is `tag` matches an expression that names it.
    private static func names(_ tag: Tag, _ text: String?) -> Bool {
        guard let text, let expression = try? TagExpression(parsing: text, limits: .stored) else { return false }
        return expression.tags.contains(tag) && expression.matches { $0 == tag }
    }
}
