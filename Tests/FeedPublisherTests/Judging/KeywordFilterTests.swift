import Feeds
import Testing

@testable import FeedLists
@testable import FeedPublisher

@Suite struct KeywordFilterTests {
    private func isIn(_ term: String, _ title: String?, summary: String? = nil, categories: [String] = []) throws
        -> Bool
    {
        var entry = Entry()
        entry.title = title
        entry.summary = summary
        entry.categories = categories
        return try Keyword(parsing: term).isIn(KeywordFilter.FilterText(entry))
    }

    @Test(arguments: [
        ("quake", "Quake hits coast", true), ("quake", "EARTHQUAKE hits coast", false), ("quake*", "Quakes hit", true),
        ("quak*", "quake", true), ("quake*", "earthquakes", false),
        ("prime minister", "The Prime  Minister's visit", true),
        ("prime minister", "prime: minister", true), ("prime minister", "prime ministers", false),
        ("prime min*", "prime ministers", true), ("minister prime", "prime minister", false),
        ("Zürich", "ZURICH votes", true), ("zurich", "Zu\u{308}rich", true), ("strasse", "Straße", true),
        ("Łódź", "lodz", true), ("İstanbul", "istanbul", true), ("ΣΊΣΥΦΟΣ", "σισυφος", true),
        ("Москва́", "москва", true),
        ("ＡＢＣ", "abc", true), ("ﬁre", "fire", true), ("地震", "東京で地震がありました", true), ("地震*", "大地震", true),
        ("서울", "서울에서", true), ("c++", "c", true), ("covid-19", "COVID 19", true), ("covid 19", "COVID-19", true),
        ("5", "15 of 50", false), ("aaab", "aa aab aaaab aaab", true), ("abab", "aababab", false),
        ("abab*", "x abababc", true),
    ])
    func `a term is found as whole words, whatever case, accents and width`(
        term: String,
        title: String,
        expected: Bool
    ) throws {
        #expect(try isIn(term, title) == expected)
    }

    @Test func `titles, summaries and categories are matched, each on its own`() throws {
        #expect(try isIn("quake", nil, summary: "a quake"))
        #expect(try isIn("quake", "x", categories: ["y", "Quake"]))
        #expect(try !isIn("great quake", "great", summary: "quake"))
        #expect(try !isIn("quake", nil))
    }

    @Test(arguments: ["", " ", "*", "-", "!?", "a*b", "*a", String(repeating: "a", count: 201)])
    func `a term without a word or with a pattern is refused`(term: String) {
        #expect(throws: KeywordError.self) { try Keyword(parsing: term) }
    }

    @Test func `exclusion wins, and every filter must be passed`() throws {
        let filter = KeywordFilter(
            include: [try Keyword(parsing: "quake"), try Keyword(parsing: "flood")],
            exclude: [try Keyword(parsing: "drill")]
        )
        func skipReason(_ title: String) -> SkipReason? {
            var entry = Entry()
            entry.title = title
            return filter.skipReason(for: KeywordFilter.FilterText(entry))
        }
        #expect(skipReason("Flood in town") == nil)
        #expect(skipReason("Quake drill") == .excluded("drill"))
        #expect(skipReason("Election") == .notIncluded)
    }

    @Test func `a hostile text costs no more than its length`() throws {
        let clock = ContinuousClock()
        let text = String(repeating: "a", count: 60_000)
        let terms = try (0..<40).map { try Keyword(parsing: String(repeating: "a", count: 150) + "b\($0)*") }
        var entry = Entry()
        entry.title = text
        let filter = KeywordFilter(exclude: terms)
        let time = clock.measure { #expect(filter.skipReason(for: KeywordFilter.FilterText(entry)) == nil) }
        // 2.4 million steps; an algorithm that went back would need 360 million.
        #expect(time < .seconds(60))
    }
}
