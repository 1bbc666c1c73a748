import Testing

@testable import FeedPublisher

@Suite struct StoryTitleTests {
    @Test(arguments: [
        ("Mayor resigns after row over budget", "MAYOR RESIGNS AFTER ROW OVER BUDGET!"),
        ("Mayor resigns after row over budget", "Mayor resigns after a row over the budget"),
        ("Mayor resigns after row over budget", "BREAKING: Mayor resigns after row over budget"),
        ("Mayor resigns after row over budget", "UPDATE 2-Mayor resigns after row over budget"),
        ("Mayor resigns after row over budget", "+++ Mayor resigned after row over budget +++"),
        ("Mayor resigns after row over budget", "Mayor resigns after row over budget (video)"),
        ("‘Mayor’ resigns after row over “budget”", "'Mayor' resigns after row over \"budget\""),
        ("Navy seizes two tankers", "Navy seized 2 tankers"),
        ("Court cancels plans of cities", "Court cancelled plan of city"),
        ("Japan's quake toll rises to 12", "Japan quake toll rises to 12"),
        ("U.S. can't join e-bike talks", "US cannot join ebike talks"),
        ("Twenty-one hurt on air-strike", "21 hurt on airstrike"),
        ("Bank pays $2.50bn to victims", "Bank pays 2,500,000,000 dollars to victims"),
        ("Storm leaves 12 000 homes in dark", "Storm leaves 12,000 homes in dark"),
        ("Turnout above 50% at noon", "Turnout above 50 per cent at noon"),
        ("Harbour programme modernised by theatre", "Harbor program modernized by theater"),
        ("Präsident Möller tritt nach Wahl zurück", "Praesident Moeller tritt nach der Wahl zurueck"),
        ("Il sindaco di Velm si dimette", "Sindaco di Velm si dimette"),
        ("東京で大きな地震、津波の心配なし", "東京で大きな地震 津波の心配なし"),
        ("首都で大規模な停電、三十万世帯に影響", "首都で大規模な停電、30万世帯に影響"),
    ])
    func `a story in another spelling is the same`(one: String, other: String) throws {
        let key = try #require(StoryTitle(one).key)
        #expect(StoryTitle(other).key == key, "\(StoryTitle(one).text) \(StoryTitle(other).text)")
    }

    @Test(arguments: [
        ("Concert off after strike of conductor", "Concert off after stroke of conductor"),
        ("Council plans arena", "Cancels plans arena"),
        ("Quake in Japan kills 12 people", "Quake in Japan kills 13 people"),
        ("Shares in London change by +1 percent", "Shares in London change by -1 percent"),
        ("Bank lifts rate to 2.25 percent", "Bank lifts rate to 2.5 percent"),
        ("Lantern 3.1 is out", "Lantern 3.10 is out"),
        ("Second body found in mill", "Third body found in mill"),
        ("Two die in crash", "Two in crash"),
        ("UN envoys leave the talks", "Envoys leave the talks"),
        ("Chess champion dying of cancer", "Chess champion dies of cancer"),
        ("Schools can open on Monday", "Schools can't open on Monday"),
        ("Police officer shoots man in park", "Man shoots police officer in park"),
        ("Mother of the captain speaks", "Mother and the captain speak"),
        ("Plan for harbour lands in court", "Plane for harbour lands in court"),
        ("Jury verdict in mayor's trial - guilty", "Jury verdict in mayor's trial - not guilty"),
        ("Poet found in river", "Pot found in river"),
        ("Mayor resigns after row", "Mayor resigns after row, deputy takes over"),
        ("Charges filed in court", "Charges filled in court"),
        ("首都で大規模な停電、約三十万世帯に影響", "首都で大規模な停電、約五十万世帯に影響"),
    ])
    func `another story is another`(one: String, other: String) throws {
        let key = try #require(StoryTitle(one).key)
        #expect(StoryTitle(other).key != key, "\(StoryTitle(one).text)")
    }

    @Test(arguments: [
        "", "Live", "In pictures", "The week in science", "Morning briefing: the news", "地震情報", "1 2 3",
        "Version 2.0 released", "Photo of the day", "Good morning", "Weekly newsletter",
    ])
    func `a title that says little is nobody else's`(title: String) {
        #expect(StoryTitle(title).keyAcrossFeeds == nil)
    }

    @Test func `an ending is a publisher's name only if the document says so`() {
        let headlines = ["Harvest begins - Bravo Times", "Chess problem - Bravo Times", "Walk - Bravo Times"]
        let papers = [
            PublisherNames(titles: ["Bravo Times"], site: nil, headlines: []),
            PublisherNames(titles: [], site: "www.bravotimes.example", headlines: []),
            PublisherNames(titles: [], site: nil, headlines: headlines + ["Snow closes pass"]),
        ]
        for paper in papers {
            #expect(StoryTitle("Snow closes pass - Bravo Times", by: paper).text == StoryTitle("Snow closes pass").text)
            #expect(StoryTitle("Snow closes pass - Reds win", by: paper).text != StoryTitle("Snow closes pass").text)
        }
        // Endings of few titles are news: lines of a status page.
        let status = PublisherNames(
            titles: [],
            site: nil,
            headlines: ["Line 4 - closed", "Line 7 - closed", "A", "B", "C"]
        )
        #expect(StoryTitle("Line 4 - closed", by: status).key != StoryTitle("Line 4 - open", by: status).key)
    }

    @Test func `a story announced with an unknown ending covers the title without it, but not the reverse`() throws {
        let longer = StoryTitle("Snow closes the northern pass - Bravo Times")
        #expect(longer.shownKeys.contains(try #require(StoryTitle("Snow closes the northern pass").keyAcrossFeeds)))
        #expect(!StoryTitle("Snow closes the northern pass").shownKeys.contains(try #require(longer.keyAcrossFeeds)))
    }
}
