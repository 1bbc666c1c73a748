internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import GRDB

/// The feeds, and the hosts that asked for quiet.
extension PublisherStore {
    /// All feeds ever listed, by URL.
    func feeds() throws -> [String: FeedRecord] {
        try read { store in
            var feeds: [String: FeedRecord] = [:]
            try store.forEachRow("SELECT * FROM feed") { row in
                let record = try FeedRecord(row)
                feeds[record.url] = record
            }
            return feeds
        }
    }

    /// A feed's record as it is at this moment.
    func feed(_ id: Int64) throws -> FeedRecord? {
        try read { try $0.rows("SELECT * FROM feed WHERE id = ?", [id]).first.map(FeedRecord.init) }
    }

    /// Gives each listed feed its number; those already known keep theirs.
    ///
    /// A feed whose address was corrected in its list keeps its number and what it knows of entries; what was found out
    /// about the former address is nothing against the new one.
    func enroll(_ addresses: [FeedAddress]) throws -> [String: FeedRecord] {
        let known = try feeds()
        let new = addresses.filter { known[$0.text] == nil }
        guard !new.isEmpty else { return known }
        let listed = Set(addresses.map(\.text))
        var unlisted = known.values.filter { !listed.contains($0.url) }
        try transaction { store in
            for address in new {
                if let index = unlisted.firstIndex(where: { $0.hasMoved(to: address) }) {
                    let former = unlisted.remove(at: index)
                    try store.run(
                        """
                        UPDATE feed SET url = ?, moved_url = NULL, move_url = NULL, move_first_seen = NULL,
                        move_polls = NULL, etag = NULL, last_modified = NULL, validator_url = NULL, body_hash = NULL,
                        identical_answers = 0, due = NULL, wait = NULL, failures = 0, failing_since = NULL,
                        trouble_kind = NULL, trouble = NULL, retired = NULL WHERE id = ?
                        """,
                        [address.text, former.id]
                    )
                } else {
                    try store.run("INSERT INTO feed (url) VALUES (?) ON CONFLICT DO NOTHING", [address.text])
                }
            }
        }
        return try feeds()
    }

    /// Puts a feed's next turn off, or with `nil` has it asked for at once.
    ///
    /// A turn that lies further in the wished direction stays, and one that waits for a failure to pass is not brought
    /// forward.
    func reschedule(_ feed: Int64, _ due: DueTime?, isLater: Bool) throws {
        let condition = isLater ? "due < ?" : "due > ? AND failures = 0"
        try transaction { store in
            try store.run(
                "UPDATE feed SET due = ?, wait = ? WHERE id = ? AND \(condition)",
                [due?.at.milliseconds, due?.wait.inMilliseconds, feed, due?.at.milliseconds ?? Int64.min]
            )
        }
    }

    /// Hosts that asked for quiet.
    func hostWaits() throws -> [String: DueTime] {
        try read { store in
            let waits = try store.rows("SELECT host, until, wait FROM host_wait").map { row in
                let due = DueTime(
                    at: Date(milliseconds: try row.decode(forColumn: "until")),
                    wait: .milliseconds(try row.decode(Int64.self, forColumn: "wait"))
                )
                return (try row.decode(String.self, forColumn: "host"), due)
            }
            return Dictionary(waits) { first, _ in first }
        }
    }
}

extension StoreTransaction {
    /// A shorter wait does not end a longer one, unless that was counted by a clock that has been set back since.
    func save(_ wait: HostWait, now: Date) throws {
        try run(
            """
            INSERT INTO host_wait (host, until, wait) VALUES (?1, ?2, ?3)
            ON CONFLICT DO UPDATE SET until = excluded.until, wait = excluded.wait
            WHERE excluded.until > until OR until - wait > ?4
            """,
            [wait.host, wait.due.at.milliseconds, wait.due.wait.inMilliseconds, now.milliseconds]
        )
    }

    /// Writes a feed as it is from now on.
    func save(_ record: FeedRecord) throws {
        try run(
            """
            UPDATE feed SET moved_url = ?, move_url = ?, move_first_seen = ?, move_polls = ?, etag = ?, last_modified = ?,
            body_hash = ?, identical_answers = ?, due = ?, wait = ?, failures = ?, failing_since = ?, trouble_kind = ?,
            trouble = ?, last_success = ?, newest_entry = ?, baseline = ?, readings = ?, complete_reading = ?,
            incomplete_readings = ?, identity_rule = ?, retired = ?, title = ?, format = ?, validator_url = ?, pace = ?,
            skip_hours = ?, skip_days = ?, last_update = ?, held_until = ? WHERE id = ?
            """,
            [
                record.movedURL, record.move?.url, record.move?.firstSeen.milliseconds, record.move?.polls,
                record.validators.etag.map { Data($0) }, record.validators.lastModified.map { Data($0) },
                record.bodyHash.map { Data($0) }, record.identicalAnswers, record.due?.at.milliseconds,
                record.due?.wait.inMilliseconds, record.failures, record.failingSince?.milliseconds,
                record.trouble?.kind, record.trouble?.line, record.lastSuccess?.milliseconds,
                record.newestEntry?.milliseconds, record.baseline?.milliseconds, record.readings,
                record.completeReading, record.incompleteReadings, record.identityRule.rawValue,
                record.retired?.milliseconds, record.title, record.format, record.validators.url,
                record.pace.interval?.inMilliseconds, record.pace.skipHours.bits, record.pace.skipDays.bits,
                record.lastUpdate?.milliseconds, record.heldUntil?.milliseconds, record.id,
            ]
        )
    }
}

extension FeedRecord {
    fileprivate init(_ row: Row) throws {
        self.init(id: try row.decode(forColumn: "id"), url: try row.decode(forColumn: "url"))
        movedURL = try row.decode(forColumn: "moved_url")
        if let url = try row.decode(String?.self, forColumn: "move_url"),
            let firstSeen = try row.date("move_first_seen")
        {
            move = MoveCandidate(url: url, firstSeen: firstSeen, polls: try row.decode(forColumn: "move_polls"))
        }
        validators.etag = try row.bytes("etag")
        validators.lastModified = try row.bytes("last_modified")
        validators.url = try row.decode(forColumn: "validator_url")
        pace.interval = try row.decode(Int64?.self, forColumn: "pace").map { .milliseconds($0) }
        pace.skipHours = Set(bits: try row.decode(forColumn: "skip_hours"))
        pace.skipDays = Set(bits: try row.decode(forColumn: "skip_days"))
        bodyHash = try row.bytes("body_hash")
        identicalAnswers = try row.decode(forColumn: "identical_answers")
        if let at = try row.date("due"), let wait = try row.decode(Int64?.self, forColumn: "wait") {
            due = DueTime(at: at, wait: .milliseconds(wait))
        }
        failures = try row.decode(forColumn: "failures")
        failingSince = try row.date("failing_since")
        if let kind = try row.decode(String?.self, forColumn: "trouble_kind"),
            let line = try row.decode(String?.self, forColumn: "trouble")
        {
            trouble = FeedTrouble(kind: kind, line: line)
        }
        lastSuccess = try row.date("last_success")
        newestEntry = try row.date("newest_entry")
        baseline = try row.date("baseline")
        readings = try row.decode(forColumn: "readings")
        completeReading = try row.decode(forColumn: "complete_reading")
        incompleteReadings = try row.decode(forColumn: "incomplete_readings")
        identityRule = IdentityRule(rawValue: try row.decode(forColumn: "identity_rule")) ?? .id
        retired = try row.date("retired")
        lastUpdate = try row.date("last_update")
        heldUntil = try row.date("held_until")
        title = try row.decode(forColumn: "title")
        format = try row.decode(forColumn: "format")
    }
}
