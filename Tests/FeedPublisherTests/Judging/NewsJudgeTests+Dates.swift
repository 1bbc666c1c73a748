import Feeds
import Foundation
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Old entries, documents as a whole, and dates.
extension NewsJudgeTests {
    private func hourly(_ range: Range<Int>, every hours: Double = 5) -> [Entry] {
        range.map { entry("e\($0)", link: "https://news.example/e\($0)", daysAgo: (3 + hours * Double($0)) / 24) }
    }

    @Test(arguments: [(10, 40), (1, 20), (10, 13)])
    func `entries with which a document grows downwards are old`(before: Int, after: Int) {
        var reader = Reader()
        _ = reader.read(hourly(0..<before))
        let judgement = reader.judge([entry("new", daysAgo: -0.001)] + hourly(0..<after))
        #expect(judgement.announcements.map(\.entry.id) == ["new"])
        #expect(judgement.skipped[after] == .old)
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

    @Test func `many new entries beside the old ones are not a reset`() {
        var reader = Reader()
        let old = (0..<5).map { entry("old\($0)", daysAgo: 400) }
        _ = reader.read(old)
        #expect(reader.read((0..<30).map { entry("new\($0)", daysAgo: 300) } + old).count == 30)
    }

    @Test func `a document that turned over after days without a poll is not a reset`() {
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
        #expect(judgement.isForeign && judgement.announcements.isEmpty && judgement.skipped[0] == .foreign)
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
