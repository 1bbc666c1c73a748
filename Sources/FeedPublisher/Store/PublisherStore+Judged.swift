internal import Formats
internal import FoundationEssentials
internal import GRDB
internal import HubProtocol

/// The last decisions on each feed's entries, and the states of their messages.
extension PublisherStore {
    /// Returns the newest entries of all feeds, by the feed's address.
    func judgedEntries() throws -> [String: [JudgedEntry]] {
        let entries = try read { store in
            try store.values("SELECT url, entries FROM judged JOIN feed ON feed.id = judged.feed") { row in
                (try row.decode(String.self, forColumn: "url"), try JudgedEntry.decode(row))
            }
        }
        return Dictionary(entries) { _, last in last }
    }

    /// Returns the states of announcing messages by idempotency key, with the hub's ids of accepted ones.
    func announcements(
        _ keys: [String],
        now: Date
    ) throws -> [String: (state: AnnouncementState, message: String?)] {
        try read { store in
            var found: [String: (state: AnnouncementState, message: String?)] = [:]
            for key in keys {
                guard let row = try store.rows(JudgedQuery.announcement, [key]).first else { continue }
                found[key] = (try AnnouncementState(row, now: now), try row.decode(forColumn: "messageID"))
            }
            return found
        }
    }
}

extension StoreTransaction {
    func judgedEntries(of feed: Int64) throws -> [JudgedEntry] {
        try rows("SELECT entries FROM judged WHERE feed = ?", [feed]).first.map(JudgedEntry.decode) ?? []
    }

    func save(_ entries: [JudgedEntry], of feed: Int64) throws {
        let text = try JSONEncoder.sorted.text(entries)
        try run("INSERT OR REPLACE INTO judged (feed, entries) VALUES (?, ?)", [feed, text])
    }
}

/// A statement of this file, separate so that a test can check its query plan.
enum JudgedQuery {
    static let announcement = """
        SELECT message.state, message.reason, message.notBefore,
        coalesce(message.messageID, digest.messageID) AS messageID
        FROM outbox AS message LEFT JOIN outbox AS digest ON digest.id = message.digest
        WHERE message.idempotencyKey = ?
        """
}

extension JudgedEntry {
    fileprivate static func decode(_ row: Row) throws -> [JudgedEntry] {
        let text = try row.decode(String.self, forColumn: "entries")
        return try JSONReader.decode([JudgedEntry].self, from: text, limits: .stored)
    }
}

extension AnnouncementState {
    fileprivate init(_ row: Row, now: Date) throws {
        self =
            switch try row.decode(String.self, forColumn: "state") {
            case "pending": try row.date("notBefore").flatMap { $0 > now ? .held(until: $0) : nil } ?? .waiting
            case "sent": .sent
            case "failed": .refused(try row.decode(String?.self, forColumn: "reason") ?? "no reason is known")
            default: .digest
            }
    }
}
