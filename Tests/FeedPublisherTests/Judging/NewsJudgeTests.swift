import Feeds
import Foundation
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Readings of one feed, one after the other, with a memory like the store's.
private struct Reader {
    var record = FeedRecord(id: 1, url: "https://news.example/feed")
    var known: Set<SeenKey> = []
    var last: Set<EntryKey> = []
    var now = Date(timeIntervalSince1970: 1_780_000_000)

    /// - Returns: The titles announced, in order.
    mutating func read(
        _ entries: [Entry],
        link: String? = "https://news.example/",
        existing: ExistingEntries = .none
    ) -> [String] {
        judge(entries, link: link, existing: existing).announcements.map { $0.entry.title ?? $0.entry.id ?? "" }
    }

    mutating func judge(
        _ entries: [Entry],
        link: String? = "https://news.example/",
        existing: ExistingEntries = .none
    ) -> Judgement {
        var feed = Feed(format: FeedFormat(.rss, version: "2.0"))
        feed.link = link
        feed.entries = entries
        let judge = NewsJudge(feed: feed, record: record, existing: existing, now: now)
        let keys = Set(judge.entryMarks.map(\.key))
        var state = SeenState()
        state.unknown = keys.filter { !known.contains(SeenKey(.entry, $0)) }
        state.known = known.intersection(keys.map { SeenKey(.entry, $0) } + judge.furtherKeys(state))
        state.vanished = last.subtracting(keys).count
        let judgement = judge.judge(state)
        known.formUnion(judge.marks(after: judgement))
        last = keys
        record = judge.record(record, after: judgement, isWhole: true)
        record.baseline = record.baseline ?? now
        record.lastSuccess = now
        now += 600
        return judgement
    }
}

private func entry(
    _ id: String?,
    _ title: String? = nil,
    link: String? = nil,
    daysAgo: Double? = nil,
    from now: Date = Date(timeIntervalSince1970: 1_780_000_000)
) -> Entry {
    var entry = Entry()
    entry.id = id
    entry.title = title ?? id
    entry.link = link
    entry.published = daysAgo.map { now - $0 * 86_400 }
    return entry
}

@Suite struct NewsJudgeTests {
    @Test func `a first reading is silent, and an entry that comes later is announced once`() {
        var reader = Reader()
        #expect(reader.read([entry("b"), entry("a")]) == [])
        #expect(reader.read([entry("c"), entry("b"), entry("a")]) == ["c"])
        #expect(reader.read([entry("c"), entry("b"), entry("a")]) == [])
    }

    @Test func `a test alert and one that has expired are recorded in silence`() {
        var reader = Reader()
        #expect(reader.read([entry("a")]) == [])
        var test = entry("test")
        test.alert = Alert()
        test.alert?.status = "Test"
        var over = entry("over")
        over.alert = Alert()
        over.alert?.info = [Alert.Info()]
        over.alert?.info[0].expires = reader.now - 60
        var warning = over
        warning.id = "warning"
        warning.title = "warning"
        warning.alert?.info[0].expires = reader.now + 3_600
        #expect(reader.read([test, over, warning, entry("a")]) == ["warning"])
        #expect(reader.read([test, over, warning, entry("a")]) == [])
    }

    @Test func `an empty first reading is a baseline`() {
        var reader = Reader()
        #expect(reader.read([]) == [])
        let old = (0..<8).map { entry("e\($0)", daysAgo: 300) }
        #expect(reader.read(old).count == 8)
    }

    @Test(arguments: [
        (ExistingEntries.all, ["a", "b", "c"]), (.newest(2), ["b", "c"]), (.newest(0), []), (.none, []),
    ])
    func `existing entries are announced when asked for, oldest first`(existing: ExistingEntries, expected: [String]) {
        var reader = Reader()
        #expect(reader.read([entry("c"), entry("b"), entry("a")], existing: existing) == expected)
        #expect(reader.read([entry("c"), entry("b"), entry("a")], existing: existing) == [])
    }

    @Test func `entries go by date, and by reverse document order where dates are equal or absent`() {
        var reader = Reader()
        _ = reader.read([])
        let titles = reader.read([
            entry("undated 2"), entry("old", daysAgo: 2), entry("new", daysAgo: 1), entry("same", daysAgo: 2),
            entry("undated 1"),
        ])
        #expect(titles == ["same", "old", "new", "undated 1", "undated 2"])
    }

    @Test func `an edited entry is no news`() {
        var reader = Reader()
        _ = reader.read([entry("a", "Mayor resigns", daysAgo: 1)])
        #expect(reader.read([entry("a", "Mayor resigns after row", daysAgo: 0)]) == [])
    }

    @Test func `an entry that left and came back is no news`() {
        var reader = Reader()
        _ = reader.read([entry("a"), entry("b")])
        _ = reader.read([entry("b")])
        #expect(reader.read([entry("a"), entry("b")]) == [])
    }

    @Test(arguments: [
        ("http://news.example/1", "https://news.example/1"), ("https://www.news.example/1", "https://news.example/1"),
    ])
    func `an id that changes scheme or www is no news`(before: String, after: String) {
        var reader = Reader()
        _ = reader.read([entry(before, "one"), entry("x"), entry("y")])
        #expect(reader.read([entry(after, "one, edited"), entry("x"), entry("y")]) == [])
    }

    @Test func `a changed id with the same link is no news`() {
        var reader = Reader()
        _ = reader.read([entry("1#0", "one", link: "https://news.example/one?utm_source=rss"), entry("x"), entry("y")])
        #expect(
            reader.read([entry("1#1", "one: update", link: "https://news.example/one"), entry("x"), entry("y")]) == []
        )
    }

    @Test func `links to a home page make no two entries one`() {
        var reader = Reader()
        _ = reader.read([entry("1", link: "https://status.example/")], link: nil)
        #expect(reader.read([entry("2", link: "https://status.example/")], link: nil) == ["2"])
        #expect(reader.read([entry("3", link: "https://news.example/")]) == ["3"])
    }

    @Test func `a feed whose entries share one id announces each`() {
        var reader = Reader()
        let old = (0..<6).map { entry("home", "story \($0)", link: "https://news.example/\($0)") }
        _ = reader.read(old)
        let new = entry("home", "story 6", link: "https://news.example/6")
        #expect(reader.read([new] + old) == ["story 6"])
        #expect(reader.read([new]) == [])
        #expect(reader.read([entry("home", "story 7", link: "https://news.example/7")]) == ["story 7"])
    }

    @Test func `an entry twice in one document is announced once`() {
        var reader = Reader()
        _ = reader.read([])
        #expect(reader.read([entry("a", "A"), entry("a", "A again"), entry("c", "C")]) == ["C", "A"])
        #expect(reader.read([entry("http://x.example/b", "B"), entry("https://x.example/b", "B")]).count == 1)
    }

    @Test func `all ids changed at once is a reset, and what came after the last reading is still news`() {
        var reader = Reader()
        _ = reader.read((0..<10).map { entry("old\($0)", "title \($0)", daysAgo: Double($0 + 3)) })
        var after = (0..<10).map { entry("new\($0)", "Title \($0)!", daysAgo: Double($0 + 3)) }
        after.insert(entry("fresh", "Fresh", daysAgo: -0.001), at: 0)
        let judgement = reader.judge(after)
        #expect(judgement.isReset)
        #expect(judgement.announcements.map(\.entry.id) == ["fresh"])
        #expect(reader.read(after) == [])
    }

    @Test func `many new entries beside the old ones are no reset`() {
        var reader = Reader()
        let old = (0..<5).map { entry("old\($0)", daysAgo: 400) }
        _ = reader.read(old)
        #expect(reader.read((0..<30).map { entry("new\($0)", daysAgo: 300) } + old).count == 30)
    }

    @Test func `a document that turned over after days without a poll is no reset`() {
        var reader = Reader()
        _ = reader.read((0..<10).map { entry("old\($0)", daysAgo: 1) })
        reader.now += 5 * 86_400
        #expect(reader.read((0..<10).map { entry("new\($0)", daysAgo: -4) }).count == 10)
    }

    @Test func `a clock that was years ahead makes no reset of news`() {
        var reader = Reader()
        _ = reader.read((0..<5).map { entry("a\($0)", daysAgo: 1) })
        reader.now += 315_360_000
        #expect(reader.read((0..<5).map { entry("b\($0)", daysAgo: 0.5) }).count == 5)
        #expect(reader.read((0..<5).map { entry("c\($0)", daysAgo: 0.4) }).count == 5)
        reader.now -= 315_360_000
        #expect(reader.read((0..<5).map { entry("d\($0)", daysAgo: 0.3) }).count == 5)
    }

    @Test func `ids and links that change at each fetch announce new titles only`() {
        var reader = Reader()
        func document(_ round: Int, _ titles: [String]) -> [Entry] {
            titles.enumerated().map { position, title in
                entry(
                    "\(round)-\(position)",
                    title,
                    link: "https://news.example/\(round)?t=\(round)\(position)",
                    daysAgo: 2
                )
            }
        }
        _ = reader.read(document(1, ["a", "b", "c", "d", "e"]))
        #expect(reader.read(document(2, ["a", "b", "c", "d", "e"])) == [])
        #expect(reader.read(document(3, ["f", "a", "b", "c", "d"])) == ["f"])
    }

    @Test func `one dated entry whose id and link change at each fetch is announced once`() {
        var reader = Reader()
        let stable = (1...5).map { entry("s\($0)", daysAgo: Double($0)) }
        func volatile(_ round: Int, daysAgo: Double? = 0.5) -> Entry {
            entry("v\(round)", "Live: the count", link: "https://news.example/live?\(round)", daysAgo: daysAgo)
        }
        _ = reader.read(stable)
        #expect(reader.read([volatile(1)] + stable) == ["Live: the count"])
        for round in 2...4 { #expect(reader.read([volatile(round)] + stable) == []) }
        #expect(reader.read([volatile(5, daysAgo: 0.1)] + stable).count == 1, "another date is another entry")
        #expect(reader.read([volatile(6, daysAgo: nil)] + stable).count == 1, "a title alone says too little")
        #expect(reader.read([volatile(7, daysAgo: nil)] + stable).count == 1)
    }

    @Test func `a title and date that another entry of the document still bears silence nothing`() {
        var reader = Reader()
        let stable = (1...5).map { entry("s\($0)", daysAgo: Double($0)) }
        let first = entry("w1", "Storm warning", daysAgo: 0)
        _ = reader.read([first] + stable)
        #expect(reader.read([entry("w2", "Storm warning", daysAgo: 0), first] + stable) == ["Storm warning"])
        var alert = entry("w3", "Storm warning", daysAgo: 0)
        alert.alert = Alert()
        #expect(reader.read([alert] + stable) == ["Storm warning"], "an alert is known by its identifier")
    }

    @Test func `a date ahead is shown as now, and one far ahead or of 1970 not at all`() {
        var reader = Reader()
        _ = reader.read([])
        let now = reader.now
        let announcements = reader.judge([
            entry("zone", daysAgo: -0.5), entry("event", daysAgo: -90), entry("none", daysAgo: 20_600),
        ]).announcements
        let dates = Dictionary(uniqueKeysWithValues: announcements.map { ($0.entry.id ?? "", $0.date) })
        #expect(dates == ["zone": now, "event": nil, "none": nil])
    }

    @Test func `a far future date does not silence what follows`() {
        var reader = Reader()
        _ = reader.read([])
        _ = reader.read([entry("event", daysAgo: -3_000)])
        #expect(reader.read([entry("event", daysAgo: -3_000), entry("today", daysAgo: 0)]) == ["today"])
    }

    @Test func `a story that the category had from another feed is recorded without a word`() throws {
        var feed = Feed(format: FeedFormat(.rss, version: "2.0"))
        feed.entries = [entry("a", link: "https://wire.example/a"), entry("b", link: "https://wire.example/b")]
        var record = FeedRecord(id: 2, url: "https://other.example/")
        record.baseline = Date(timeIntervalSince1970: 1_780_000_000)
        let judge = NewsJudge(
            feed: feed,
            record: record,
            existing: .none,
            now: Date(timeIntervalSince1970: 1_780_000_000)
        )
        var state = SeenState()
        state.unknown = Set(judge.entryMarks.map(\.key))
        state.stories = [try #require(judge.storyKeys(state).first): KnownStory(feed: 1, announced: .distantPast)]
        let judgement = judge.judge(state)
        #expect(judgement.announcements.map(\.entry.id) == ["b"])
        #expect(judgement.silent == 1)
    }

    /// They are stored: others would announce every entry once more.
    @Test func `keys stay what they are`() throws {
        var entry = Entry()
        entry.title = "Mayor resigns"
        #expect(TitleKey.of(entry)?.description == "0e85d5356c8ebc0514f92e366de4b3ff")
        entry.published = Date(timeIntervalSince1970: 1_763_632_800)
        #expect(TitleKey.of(entry)?.description == "78e84d8ed1a3b0db00b6de9395d5c6fb")
        entry.summary = "Why"
        entry.enclosures = [Enclosure(url: "https://x.example/a.mp3")]
        #expect(ContentKey.of(entry).description == "8345866beabb16ab6f969aafd21b2147")
        let story = FormerStoryTitle.key("Mayor resigns after row over budget")
        #expect(story?.description == "cd1c766a4eaaf3ebac7a57f7e017292b")
        var feed = Feed(format: FeedFormat(.rss, version: "2.0"))
        entry.id = "1"
        feed.entries = [entry]
        #expect(feed.keys().first?.key.description == "a68278b6d7c0c500e27066eb97ea44d4")
    }
}
