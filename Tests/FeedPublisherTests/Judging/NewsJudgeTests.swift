import Feeds
import Foundation
import Testing

@testable import FeedLists
@testable import FeedPublisher

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

    @Test func `an edited entry is not news`() {
        var reader = Reader()
        _ = reader.read([entry("a", "Mayor resigns", daysAgo: 1)])
        #expect(reader.read([entry("a", "Mayor resigns after row", daysAgo: 0)]) == [])
    }

    @Test func `an entry that left and came back is not news`() {
        var reader = Reader()
        _ = reader.read([entry("a"), entry("b")])
        _ = reader.read([entry("b")])
        #expect(reader.read([entry("a"), entry("b")]) == [])
    }

    @Test(arguments: [
        ("http://news.example/1", "https://news.example/1"), ("https://www.news.example/1", "https://news.example/1"),
    ])
    func `an id that changes scheme or www is not news`(before: String, after: String) {
        var reader = Reader()
        _ = reader.read([entry(before, "one"), entry("x"), entry("y")])
        #expect(reader.read([entry(after, "one, edited"), entry("x"), entry("y")]) == [])
    }

    @Test func `a changed id with the same link and date, title or content is not news`() {
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

    @Test func `an entry whose title and address were corrected together is not news`() {
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
}
