internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import GRDB
internal import HubProtocol

/// The feeds, and the hosts that asked for a pause.
extension PublisherStore {
    /// Returns all feeds that were ever listed, by URL.
    func feeds() throws -> [String: FeedRecord] {
        let records = try read { try $0.values("SELECT * FROM feed") { try FeedRecord($0) } }
        // Addresses may differ in bytes only, and be equal as texts.
        return Dictionary(records.map { ($0.url, $0) }) { _, last in last }
    }

    /// Returns a feed's current record.
    func feed(_ id: Int64) throws -> FeedRecord? {
        try read { try $0.feed(id) }
    }

    /// Gives each listed feed its number; known feeds keep theirs.
    ///
    /// A feed whose address was corrected in its list keeps its number and its known entries; findings about the former
    /// address do not apply to the new one.
    func enroll(_ addresses: [FeedAddress]) throws -> [String: FeedRecord] {
        let known = try feeds()
        let new = addresses.filter { known[$0.text] == nil }
        guard !new.isEmpty else { return known }
        let listed = Set(addresses.map(\.text))
        var unlisted = known.values.filter { !listed.contains($0.url) && !$0.isOfFurtherList }
        try transaction { store in
            for address in new {
                if let index = unlisted.firstIndex(where: { $0.hasMoved(to: address) }) {
                    let former = unlisted.remove(at: index)
                    try store.run(
                        """
                        UPDATE feed SET url = ?, movedURL = NULL, moveURL = NULL, moveFirstSeen = NULL,
                        movePolls = NULL, etag = NULL, lastModified = NULL, validatorURL = NULL, bodyHash = NULL,
                        identicalAnswers = 0, due = NULL, wait = NULL, failures = 0, failingSince = NULL,
                        troubleKind = NULL, trouble = NULL, recoveredAt = NULL, retired = NULL, site = NULL,
                        foreignHead = NULL WHERE id = ?
                        """,
                        [address.text, former.id]
                    )
                    try store.run(
                        "UPDATE feed SET url = ?1 || substr(url, length(?2)) WHERE substr(url, 1, length(?2)) = ?2",
                        [address.text, FeedRecord.url(former.url, of: "")]
                    )
                } else {
                    try store.run("INSERT INTO feed (url) VALUES (?) ON CONFLICT DO NOTHING", [address.text])
                }
            }
        }
        return try feeds()
    }

    /// Returns the lists that judge a feed, each with the number of its record; `record` is the feed's own.
    ///
    /// The first list without a record of its own uses the feed's record. Each further list gets one of its own, which
    /// begins as a copy: entries that were there before the list are not news for it, and a list that changes places
    /// with another loses nothing. `records` are all records by their URL, if they are loaded.
    func judges(
        of feed: ListedFeed,
        _ record: FeedRecord,
        in records: [String: FeedRecord]? = nil
    ) throws -> [PublishPass.Judge] {
        var isUsed = false
        return try feed.members.map { member in
            let category = member.list.category.folded
            let url = FeedRecord.url(record.url, of: category)
            var number = try records.map { $0[url]?.id } ?? read { try $0.feedNumber(url) }
            if number == nil, isUsed { number = try transaction { try $0.copy(record.id, to: url, of: category) } }
            if number == nil { isUsed = true }
            return PublishPass.Judge(list: member.list, source: member.source, feed: number ?? record.id)
        }
    }

    /// Moves a feed's next turn to `due`, later with `isLater`, else earlier; `nil` means at once.
    ///
    /// A turn that is already further in that direction stays, and a turn after a failure is not brought forward.
    /// Nothing changes if `isStill`, which is checked in the same transaction, returns false.
    func reschedule(
        _ feed: Int64,
        _ due: DueTime?,
        isLater: Bool,
        if isStill: (StoreTransaction) throws -> Bool = { _ in true }
    ) throws {
        let condition = isLater ? "due < ?" : "due > ? AND failures = 0"
        try transaction { store in
            guard try isStill(store) else { return }
            try store.run(
                "UPDATE feed SET due = ?, wait = ? WHERE id = ? AND \(condition)",
                [due?.at.timestamp, due?.wait.milliseconds, feed, due?.at.timestamp ?? Timestamp(milliseconds: .min)]
            )
        }
    }

    /// Makes a feed due now, also one that is gone or failing.
    func pollNow(_ feed: Int64) throws {
        try transaction { try $0.run("UPDATE feed SET due = NULL, wait = NULL, retired = NULL WHERE id = ?", [feed]) }
    }

    /// Pauses a feed, or resumes it with `nil`; a poll in progress does not change that.
    func pause(_ feed: Int64, since time: Date?) throws {
        try transaction { store in
            try store.run(
                "UPDATE feed SET pausedAt = \(time == nil ? "?" : "ifnull(pausedAt, ?)") WHERE id = ?",
                [time?.timestamp, feed]
            )
        }
    }

    /// Returns the numbers of polls in the hours until now; `nil` before the first one.
    func pollHours(at now: Date) throws -> PollHours? {
        let counts = try read { store in
            try store.rows("SELECT hour, read, unchanged, failed FROM pollHour").map { row in
                try ["hour", "read", "unchanged", "failed"].map { try row.decode(Int64.self, forColumn: $0) }
            }
        }
        let last = now.hour
        let byHour = Dictionary(counts.map { ($0[0], $0) }) { $1 }
        let hours = (last - Int64(PollHours.maximumCount - 1)...last).drop { byHour[$0] == nil }
        guard let first = hours.first else { return nil }
        let start = Date(timeIntervalSince1970: Double(first) * 3_600)
        var polls = PollHours(start: ISODateTime.formatSeconds(start))
        for hour in hours {
            let counts = (byHour[hour] ?? [hour, 0, 0, 0]).map { Int(clamping: $0) }
            polls.read.append(counts[1])
            polls.unchanged.append(counts[2])
            polls.failed.append(counts[3])
        }
        return polls
    }

    /// Returns the hosts that asked for a pause.
    func hostWaits() throws -> [String: HostWait] {
        try read { store in
            let waits = try store.rows("SELECT host, until, wait, reason FROM hostWait").map { row in
                let due = DueTime(
                    at: try row.decode(Timestamp.self, forColumn: "until").date,
                    wait: .milliseconds(try row.decode(Int64.self, forColumn: "wait"))
                )
                let host = try row.decode(String.self, forColumn: "host")
                return (host, HostWait(host: host, due: due, reason: try row.decode(forColumn: "reason")))
            }
            return Dictionary(waits) { first, _ in first }
        }
    }
}

extension StoreTransaction {
    fileprivate func feedNumber(_ url: String) throws -> Int64? {
        try rows("SELECT id FROM feed WHERE url = ?", [url]).first?.decode(forColumn: "id")
    }

    /// Returns a feed's current record.
    func feed(_ id: Int64) throws -> FeedRecord? {
        try rows("SELECT * FROM feed WHERE id = ?", [id]).first.map(FeedRecord.init)
    }

    /// Creates a record for a further list of a feed, with all that is known of the feed's entries.
    fileprivate func copy(_ feed: Int64, to url: String, of category: String) throws -> Int64 {
        guard let record = try self.feed(feed) else { return feed }
        let number = try insert("INSERT INTO feed (url) VALUES (?)", [url])
        try save(record.judged(number: number, url: url))
        try run(
            """
            INSERT INTO seen (feed, kind, key, firstSeen, lastReading, content, title, date, isShared)
            SELECT ?1, kind, key, firstSeen, lastReading, content, title, date, isShared FROM seen WHERE feed = ?2
            """,
            [number, feed]
        )
        try run(
            "INSERT INTO held (feed, key, due, entry) SELECT ?1, key, due, entry FROM held WHERE feed = ?2",
            [number, feed]
        )
        // The list may have used the feed's own record before.
        try run("UPDATE story SET feed = ?1 WHERE feed = ?2 AND category = ?3", [number, feed, category])
        try save(judgedEntries(of: feed).map { $0.withoutMessage() }, of: number)
        return number
    }

    /// Stores a host's wait; a shorter wait does not replace a longer one, unless the clock has been set back since.
    func save(_ wait: HostWait, now: Date) throws {
        try run(
            """
            INSERT INTO hostWait (host, until, wait, reason) VALUES (?1, ?2, ?3, ?5)
            ON CONFLICT DO UPDATE SET until = excluded.until, wait = excluded.wait, reason = excluded.reason
            WHERE excluded.until > until OR until - wait > ?4
            """,
            [wait.host, wait.due.at.timestamp, wait.due.wait.milliseconds, now.timestamp, wait.reason]
        )
    }

    /// Counts the last poll of a feed, and deletes counts that are no longer reported.
    func countPoll(of record: FeedRecord) throws {
        guard let outcome = record.polls.all.last?.outcome, let hour = record.polledAt?.hour else { return }
        let column = "\(outcome)"
        try run(
            "INSERT INTO pollHour (hour, \(column)) VALUES (?, 1) ON CONFLICT DO UPDATE SET \(column) = \(column) + 1",
            [hour]
        )
        // Also those of a clock that was ahead.
        let kept = Int64(PollHours.maximumCount)
        try run("DELETE FROM pollHour WHERE hour < ? OR hour > ?", [hour - kept, hour + kept])
    }

    /// Writes a feed's new record.
    func save(_ record: FeedRecord) throws {
        try run(
            """
            UPDATE feed SET movedURL = ?, moveURL = ?, moveFirstSeen = ?, movePolls = ?, etag = ?, lastModified = ?,
            bodyHash = ?, identicalAnswers = ?, due = ?, wait = ?, failures = ?, failingSince = ?, troubleKind = ?,
            trouble = ?, lastSuccess = ?, newestEntry = ?, baseline = ?, readings = ?, completeReading = ?,
            incompleteReadings = ?, identityRule = ?, retired = ?, title = ?, format = ?, validatorURL = ?, pace = ?,
            skipHours = ?, skipDays = ?, lastUpdate = ?, heldUntil = ?, bodyReceived = ?, recoveredAt = ?,
            keysVersion = ?, site = ?, foreignHead = ?, polls = ?, polledAt = ? WHERE id = ?
            """,
            [
                record.movedURL, record.move?.url, record.move?.firstSeen.timestamp, record.move?.polls,
                record.validators.etag.map { Data($0) }, record.validators.lastModified.map { Data($0) },
                record.bodyHash.map { Data($0) }, record.identicalAnswers, record.due?.at.timestamp,
                record.due?.wait.milliseconds, record.failures, record.failingSince?.timestamp,
                record.problem?.kind, record.problem?.line, record.lastSuccess?.timestamp,
                record.newestEntry?.timestamp, record.baseline?.timestamp, record.readings,
                record.completeReading, record.incompleteReadings, record.identityRule.rawValue,
                record.retired?.timestamp, record.title, record.format, record.validators.url,
                record.pace.interval?.milliseconds, record.pace.skipHours.bits, record.pace.skipDays.bits,
                record.lastUpdate?.timestamp, record.heldUntil?.timestamp, record.bodyReceived?.timestamp,
                record.recoveredAt?.timestamp, record.keysVersion, record.site, record.foreignHead,
                record.polls.text, record.polledAt?.timestamp, record.id,
            ]
        )
    }
}

extension Date {
    /// Hours since 1970.
    fileprivate var hour: Int64 { Int64((max(-1e15, min(1e15, timeIntervalSince1970)) / 3_600).rounded(.down)) }
}

extension FeedRecord {
    fileprivate init(_ row: Row) throws {
        self.init(id: try row.decode(forColumn: "id"), url: try row.decode(forColumn: "url"))
        movedURL = try row.decode(forColumn: "movedURL")
        if let url = try row.decode(String?.self, forColumn: "moveURL"),
            let firstSeen = try row.date("moveFirstSeen")
        {
            move = MoveCandidate(url: url, firstSeen: firstSeen, polls: try row.decode(forColumn: "movePolls"))
        }
        validators.etag = try row.bytes("etag")
        validators.lastModified = try row.bytes("lastModified")
        validators.url = try row.decode(forColumn: "validatorURL")
        pace.interval = try row.decode(Int64?.self, forColumn: "pace").map { .milliseconds($0) }
        pace.skipHours = Set(bits: try row.decode(forColumn: "skipHours"))
        pace.skipDays = Set(bits: try row.decode(forColumn: "skipDays"))
        bodyHash = try row.bytes("bodyHash")
        identicalAnswers = try row.decode(forColumn: "identicalAnswers")
        if let at = try row.date("due"), let wait = try row.decode(Int64?.self, forColumn: "wait") {
            due = DueTime(at: at, wait: .milliseconds(wait))
        }
        failures = try row.decode(forColumn: "failures")
        failingSince = try row.date("failingSince")
        if let kind = try row.decode(String?.self, forColumn: "troubleKind"),
            let line = try row.decode(String?.self, forColumn: "trouble")
        {
            problem = FeedProblem(kind: kind, line: line)
        }
        lastSuccess = try row.date("lastSuccess")
        newestEntry = try row.date("newestEntry")
        baseline = try row.date("baseline")
        readings = try row.decode(forColumn: "readings")
        completeReading = try row.decode(forColumn: "completeReading")
        incompleteReadings = try row.decode(forColumn: "incompleteReadings")
        identityRule = IdentityRule(rawValue: try row.decode(forColumn: "identityRule")) ?? .id
        retired = try row.date("retired")
        lastUpdate = try row.date("lastUpdate")
        heldUntil = try row.date("heldUntil")
        bodyReceived = try row.date("bodyReceived")
        recoveredAt = try row.date("recoveredAt")
        keysVersion = try row.decode(forColumn: "keysVersion")
        site = try row.decode(forColumn: "site")
        foreignHead = try row.decode(forColumn: "foreignHead")
        title = try row.decode(forColumn: "title")
        format = try row.decode(forColumn: "format")
        polls = FeedPolls(try row.decode(forColumn: "polls"))
        polledAt = try row.date("polledAt")
        pausedAt = try row.date("pausedAt")
    }
}
