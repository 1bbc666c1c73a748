import FairShares
import GRDB
import HubProtocol
import NetworkAddresses
import SQLiteFiles
import Synchronization

/// The places for sessions of a hub, and the sessions that give theirs up.
///
/// Sessions of guests, who have neither an invitation nor an account, have a part of the places, and new ones, whose
/// browsers have not come back yet, a part of those. When a part is full, a session of the network with the most of
/// them ends; sessions of invited readers and of users never do.
enum SessionPlaces {
    /// The largest number of sessions of one hub; each has an installation there.
    static let all = 20_000
    /// The largest number of guests' sessions.
    static let ofGuests = 16_000
    /// The largest number of new guests' sessions.
    static let ofNewGuests = 12_000
    /// The number of new guests' sessions up to which others end first: a browser needs a moment to come back.
    static let newGuestsAtLeast = 1_000
    /// The number of sessions that are chosen at once: each choice reads all of the part.
    fileprivate static let chosenAtOnce = 64

    /// A kind of sessions that can end for others.
    enum Part: Hashable, Sendable {
        /// Guests' sessions whose browsers have come back.
        case returned
        /// Guests' sessions whose browsers have not come back.
        case new

        /// The SQL condition for sessions of the part that have not ended.
        fileprivate var condition: String {
            "user IS NULL AND isInvited = 0 AND (position IS NULL) = \(self == .new ? 1 : 0) AND seenAt > 0"
        }
    }
}

/// Sessions that will give their places up next, by hub and part.
struct ChosenSessions: Sendable {
    struct Key: Hashable, Sendable {
        let hub: String
        let part: SessionPlaces.Part
    }

    fileprivate struct Choice: Sendable {
        let sessions: [Int64]
        /// True if the largest group is that of clients that cannot be distinguished.
        let isOfEverybody: Bool
    }

    fileprivate var choices: [Key: Choice] = [:]
}

extension PageStore {
    static func addShares(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE session ADD COLUMN formerUser TEXT;
                UPDATE session SET formerUser = user;
                CREATE INDEX sessionOfGuest ON session (hub, (position IS NULL), seenAt)
                    WHERE user IS NULL AND isInvited = 0;
                """
        )
    }

    /// Makes sure that there is a place for a session.
    ///
    /// - Returns: The session that has ended for it, whose installations must be removed; `nil` if there was a place.
    /// - Throws: ``SessionRefusal/full``.
    func makePlace(_ hub: HubName, network: String, isGuest: Bool, in db: TableTransaction) throws -> ReaderSession? {
        func count(_ condition: String) throws -> Int {
            try db.count("session WHERE hub = ? AND \(condition)", [hub.folded])
        }
        let all = try count("seenAt > 0")
        let (new, returned) = (
            try count(SessionPlaces.Part.new.condition), try count(SessionPlaces.Part.returned.condition)
        )
        let isFull =
            isGuest
            ? new >= SessionPlaces.ofNewGuests || new + returned >= SessionPlaces.ofGuests || all >= SessionPlaces.all
            : all >= SessionPlaces.all
        guard isFull else { return nil }
        let isEverybody = Self.path(of: network) == [.everybody]
        let parts: [SessionPlaces.Part] =
            new >= SessionPlaces.newGuestsAtLeast ? [.new, .returned] : [.returned, .new]
        for part in isGuest && new >= SessionPlaces.ofNewGuests ? [.new] : parts {
            if let session = try end(part, hub, for: isGuest && isEverybody, in: db) { return session }
        }
        throw SessionRefusal.full
    }

    /// Ends the session of a part that gives way.
    ///
    /// `isEverybody` is true for a guest that cannot be distinguished from others, and gets no place of its group.
    private func end(
        _ part: SessionPlaces.Part,
        _ hub: HubName,
        for isEverybody: Bool,
        in db: TableTransaction
    ) throws -> ReaderSession? {
        let key = ChosenSessions.Key(hub: hub.folded, part: part)
        // A choice that is no longer good is made again, once.
        for isAgain in [false, true] {
            let known = isAgain ? nil : chosen.withLock { $0.choices[key] }
            let choice = try known ?? choose(part, hub, in: db)
            if isEverybody, choice.isOfEverybody { return nil }
            for (index, id) in choice.sessions.enumerated() {
                let row = try db.row("SELECT * FROM session WHERE sessionID = ? AND \(part.condition)", [id])
                guard let row else { continue }
                // The hourly round deletes it, and what it registered, if this request cannot.
                try db.execute("UPDATE session SET seenAt = 0 WHERE sessionID = ?", [id])
                let rest = Array(choice.sessions[(index + 1)...])
                let left = ChosenSessions.Choice(sessions: rest, isOfEverybody: choice.isOfEverybody)
                chosen.withLock { $0.choices[key] = left }
                return try ReaderSession(row)
            }
        }
        return nil
    }

    private func choose(_ part: SessionPlaces.Part, _ hub: HubName, in db: TableTransaction) throws
        -> ChosenSessions.Choice
    {
        var shares = FairShares<Int64>()
        _ = try db.rows(
            "SELECT sessionID, network FROM session WHERE hub = ? AND \(part.condition) ORDER BY seenAt, sessionID",
            [hub.folded]
        ) { row in shares.insert(row["sessionID"], in: Self.path(of: row["network"])) }
        let largest = shares.yielding.map { shares.share(of: $0) } ?? 0
        let isOfEverybody = largest > 0 && shares.count(of: [.everybody]) == largest
        var sessions: [Int64] = []
        while sessions.count < SessionPlaces.chosenAtOnce, let session = shares.yielding {
            shares.remove(session)
            sessions.append(session)
        }
        return .init(sessions: sessions, isOfEverybody: isOfEverybody)
    }

    /// The groups of a stored network.
    private static func path(of network: String) -> [ShareGroup] {
        guard let network = NetworkGroup(network), !network.isLoopback else { return [.everybody] }
        return network.path.map { .network($0) }
    }
}
