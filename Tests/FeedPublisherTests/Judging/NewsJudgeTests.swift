import Feeds
import Foundation
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Readings of one feed, one after the other, with a memory like the store's.
private struct Reader {
    var record = FeedRecord(id: 1, url: "https://news.example/feed")
    var known: [SeenKey: SeenMark] = [:]
    var last: Set<EntryKey> = []
    var recent: [JudgedEntry] = []
    var title = "Example"
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
        feed.title = title
        let judge = NewsJudge(feed: feed, record: record, existing: existing, now: now)
        let marks = judge.entryMarks
        let keys = Set(marks.map(\.key))
        var state = SeenState()
        state.unknown = keys.filter { known[SeenKey(.entry, $0)] == nil }
        state.edited = Set(
            marks.filter { mark in
                known[SeenKey(.entry, mark.key)].map { $0.content != nil && $0.content != mark.content } ?? false
            }.map(\.key)
        )
        let candidates = judge.candidates(state)
        let looked = keys.map { SeenKey(.entry, $0) } + judge.furtherKeys(of: candidates)
        state.details = known.filter { looked.contains($0.key) }
        state.known = Set(state.details.keys)
        state.recent = recent
        (state.before, state.vanished) = (last.count, last.subtracting(keys).count)
        let judgement = judge.judge(candidates, state)
        for mark in judge.marks(after: judgement) {
            var mark = mark
            if mark.content == nil, let former = known[mark.key] {
                (mark.content, mark.title, mark.date) = (former.content, former.title, former.date)
            }
            mark.isShared = mark.isShared || known[mark.key]?.isShared ?? false
            known[mark.key] = mark
        }
        guard !judgement.isForeign else {
            record = judge.record(record, after: judgement, isWhole: true)
            now += 600
            return judgement
        }
        last = keys
        recent = judge.entries.compactMap { try? judged($0) }
        record = judge.record(record, after: judgement, isWhole: true)
        record.title = title
        record.baseline = record.baseline ?? now
        record.lastSuccess = now
        now += 600
        return judgement
    }
}

/// An entry as it is stored to explain the decision on it.
private func judged(_ read: ReadEntry) throws -> JudgedEntry {
    struct Stored: Encodable {
        let key: String
        let title: String
        let date: Date?
        let judgedAt = Date(timeIntervalSince1970: 1_780_000_000)
    }
    let stored = Stored(key: read.key.description, title: read.entry.title ?? "", date: read.entry.date)
    return try JSONDecoder().decode(JudgedEntry.self, from: try JSONEncoder().encode(stored))
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

    @Test func `after an empty first reading old entries are not news, and later ones are`() {
        var reader = Reader()
        #expect(reader.read([]) == [])
        let old = (0..<8).map { entry("e\($0)", daysAgo: 300) }
        #expect(reader.read(old + [entry("new", daysAgo: -0.001), entry("undated")]) == ["new", "undated"])
        var other = Reader()
        #expect(other.read([]) == [])
        #expect(other.read([entry("late", daysAgo: 0.5)]) == ["late"], "the first story of a new site")
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
        _ = reader.read([entry("first", daysAgo: 5)])
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

    @Test func `a changed id with the same link and date, title or content is no news`() {
        let link = "https://news.example/one"
        let first = entry("1#0", "one", link: link + "?utm_source=rss", daysAgo: 1.1)
        for second in [
            entry("1#1", "one: update", link: link, daysAgo: 1.1), entry("1#1", "One!", link: link, daysAgo: 1),
            entry("1#1", "one", link: link),
        ] {
            var reader = Reader()
            _ = reader.read([first, entry("x"), entry("y")])
            #expect(reader.read([second, entry("x"), entry("y")]) == [], "\(second.title ?? "")")
        }
    }

    @Test func `another story under one link is news, whichever ids, dates and other links the feed has`() {
        let link = "https://weather.example/report"
        for others in [[], [entry("x", link: "https://a.example/x"), entry("y", link: "https://a.example/y")]] {
            for id in [nil, "1"] {
                var reader = Reader()
                _ = reader.read([entry(id, "No alerts in effect", link: link, daysAgo: 0.3)] + others)
                let warning = entry(id.map { _ in "2" }, "TORNADO WARNING", link: link, daysAgo: -0.001)
                #expect(reader.read([warning] + others) == ["TORNADO WARNING"])
                #expect(reader.read([warning] + others) == [])
                let clear = entry(id.map { _ in "3" }, "No alerts in effect", link: link, daysAgo: -0.9)
                #expect(reader.read([clear] + others) == ["No alerts in effect"])
            }
        }
    }

    @Test func `a forecast with one link and title is news each day`() {
        var reader = Reader()
        for day in 0..<3 {
            var forecast = entry(
                "rv-\(day)",
                "Weather forecast",
                link: "https://w.example/riverton",
                daysAgo: -Double(day)
            )
            forecast.summary = "Day \(day): some sun."
            #expect(reader.read([forecast]) == (day == 0 ? [] : ["Weather forecast"]))
            #expect(reader.read([forecast]) == [])
            reader.now += 86_400
        }
    }

    @Test func `two entries without ids that share a link are both news, and neither is repeated`() {
        let page = "https://grid.example/outages"
        let north = entry(nil, "Power cut in the north", link: page, daysAgo: 0.2)
        let south = entry(nil, "Power cut in the south", link: page, daysAgo: -0.001)
        let names = ["x", "y", "z"]
        let others = names.map { (name: String) in
            entry(nil, name, link: "https://grid.example/\(name)", daysAgo: 1)
        }
        var reader = Reader()
        _ = reader.read([north] + others)
        #expect(reader.read([south, north] + others) == ["Power cut in the south"])
        #expect(reader.read([south, north] + others) == [])
        #expect(reader.read([south] + others) == [])
    }

    @Test func `links that differ behind # only are different where the feed's links do so`() {
        func post(_ number: Int, _ hour: Double) -> Entry {
            entry(nil, "Post \(number)", link: "https://news.example/live#post-\(number)", daysAgo: -hour / 24)
        }
        var reader = Reader()
        _ = reader.read([post(0, -1)])
        #expect(reader.read([post(1, 0.01), post(0, -1)]) == ["Post 1"])
        #expect(reader.read([post(2, 0.02), post(1, 0.01), post(0, -1)]) == ["Post 2"])
        #expect(reader.read([post(2, 0.02), post(1, 0.01), post(0, -1)]) == [])
    }

    @Test func `two incidents of one day and title with different texts are two`() {
        func incident(_ id: String?, _ text: String) -> Entry {
            var incident = entry(id, "Road closed")
            incident.published = Date(timeIntervalSince1970: 1_779_926_400)
            incident.summary = text
            return incident
        }
        var reader = Reader()
        _ = reader.read([incident("1", "Main street")])
        #expect(reader.read([incident("2", "Mill street")]) == ["Road closed"])
        #expect(reader.read([incident("3", "Mill street")]) == [], "only the id has changed")
        var other = Reader()
        _ = other.read([])
        #expect(other.read([incident("1", "Main street"), incident("2", "Mill street")]).count == 2)
    }

    @Test func `an entry whose title and address were corrected together is no news`() {
        var reader = Reader()
        let others = (0..<5).map { entry("o\($0)", link: "https://news.example/o\($0)", daysAgo: Double($0)) }
        _ = reader.read(others)
        let wrong = entry(
            "resuce",
            "Resuce dogs find missing hiker",
            link: "https://news.example/resuce",
            daysAgo: -0.001
        )
        #expect(reader.read([wrong] + others) == [wrong.title])
        let right = entry(
            "rescue",
            "Rescue dogs find missing hiker",
            link: "https://news.example/rescue",
            daysAgo: -0.001
        )
        #expect(reader.read([right] + others) == [])
        let another = entry("wolves", "Wolves find missing hiker", link: "https://news.example/wolves", daysAgo: -0.001)
        #expect(reader.read([another] + others) == [another.title], "another word is another story")
    }

    // MARK: Old entries

    private func hourly(_ range: Range<Int>, every hours: Double = 5) -> [Entry] {
        range.map { entry("e\($0)", link: "https://news.example/e\($0)", daysAgo: (3 + hours * Double($0)) / 24) }
    }

    @Test(arguments: [(10, 40), (1, 20), (10, 13)])
    func `entries with which a document grows downwards are old`(before: Int, after: Int) {
        var reader = Reader()
        _ = reader.read(hourly(0..<before))
        let judgement = reader.judge([entry("new", daysAgo: -0.001)] + hourly(0..<after))
        #expect(judgement.announcements.map(\.entry.id) == ["new"])
        #expect(judgement.silences[after] == .old)
    }

    @Test func `entries that move up into the places of deleted ones are old`() {
        var reader = Reader()
        _ = reader.read(hourly(0..<10, every: 1))
        #expect(reader.read(hourly(2..<12, every: 1)) == [])
        var backwards = Reader()
        _ = backwards.read(hourly(0..<10, every: 1).reversed())
        #expect(backwards.read(hourly(2..<12, every: 1).reversed()) == [])
    }

    @Test(arguments: [0, 8])
    func `an article of years ago is old, wherever it appears`(place: Int) {
        var reader = Reader()
        let entries = hourly(0..<8)
        _ = reader.read(entries)
        var document = entries
        document.insert(entry("archive", daysAgo: 1_100), at: place)
        #expect(reader.read(document) == [])
    }

    @Test func `late stories and slow feeds are news`() {
        var reader = Reader()
        let entries = hourly(0..<8)
        _ = reader.read(entries)
        #expect(reader.read([entry("late", daysAgo: 14 / 24)] + entries) == ["late"])
        #expect(reader.read([entry("later", daysAgo: 47 / 24)] + entries) == ["later"])
        var weekly = Reader()
        let issues = (1...5).map { entry("w\($0)", daysAgo: Double($0) * 7) }
        _ = weekly.read(issues)
        #expect(weekly.read([entry("new", daysAgo: 5)] + issues) == ["new"])
        #expect(weekly.read([entry("second", daysAgo: 6), entry("new", daysAgo: 5)] + issues) == ["second"])
    }

    @Test func `an alert that has not expired is never old`() {
        var reader = Reader()
        _ = reader.read(hourly(0..<8))
        var alert = entry("flood", daysAgo: 20)
        alert.alert = Alert()
        alert.alert?.info = [Alert.Info()]
        alert.alert?.info[0].expires = reader.now + 3_600
        #expect(reader.read([alert] + hourly(0..<8)) == ["flood"])
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

    @Test func `a document of another site waits for the next poll`() {
        var reader = Reader()
        let own = hourly(0..<8)
        _ = reader.read(own)
        reader.title = "Shop news"
        let shop = (0..<8).map { entry("s\($0)", "Offer \($0)", daysAgo: -0.001) }
        let judgement = reader.judge(shop, link: "https://shop.example/")
        #expect(judgement.isForeign && judgement.announcements.isEmpty && judgement.silences[0] == .foreign)
        #expect(reader.record.title == "Example")
        reader.title = "Example"
        #expect(reader.read([entry("n", daysAgo: -0.001)] + own) == ["n"], "our own document again")
        reader.title = "Shop news"
        #expect(reader.judge(shop, link: "https://shop.example/").isForeign)
        #expect(reader.read(shop, link: "https://shop.example/").count == 8, "the feed has moved")
    }

    @Test func `a feed with another title or another site, or with known entries, is read`() {
        let changes: [(title: String, link: String, first: Int)] = [
            ("Renamed", "https://news.example/", 20), ("Example", "https://moved.example/", 20),
            ("Renamed", "https://moved.example/", 1), ("Renamed", "https://www.news.example/", 20),
        ]
        for change in changes {
            var reader = Reader()
            _ = reader.read(hourly(0..<8))
            reader.title = change.title
            let old = change.first < 8 ? hourly(change.first..<8) : []
            #expect(reader.read([entry("n", daysAgo: -0.001)] + old, link: change.link) == ["n"])
        }
    }

    @Test func `a draft is not recorded until it is published`() {
        var reader = Reader()
        _ = reader.read([entry("a")])
        var draft = entry("b")
        draft.isDraft = true
        let judgement = reader.judge([draft, entry("a")])
        #expect(judgement.announcements.isEmpty && judgement.silent == 0)
        #expect(reader.read([entry("b"), entry("a")]) == ["b"])
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
        let candidates = judge.candidates(state)
        state.stories = [
            try #require(judge.storyKeys(of: candidates).first): KnownStory(feed: 1, announced: judge.now)
        ]
        let judgement = judge.judge(candidates, state)
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
