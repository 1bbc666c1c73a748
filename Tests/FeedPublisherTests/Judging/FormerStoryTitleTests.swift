import Testing

@testable import FeedPublisher

@Suite struct FormerStoryTitleTests {
    @Test(arguments: [
        ("Mayor resigns after row over budget", "MAYOR RESIGNS AFTER ROW OVER BUDGET!"),
        ("Mayor resigns after row over budget", "Mayor resigns after a row over the budget"),
        ("Mayor resigns after row over budget", "BREAKING: Mayor resigns after row over budget"),
        ("Mayor resigns after row over budget", "Mayor resigns after row over budget - The Example"),
        ("Mayor resigns after row over budget", "Mayor resigns after row over budget | Example News"),
        ("‘Mayor’ resigns after row over “budget”", "'Mayor' resigns after row over \"budget\""),
        ("Zelenskyy meets leaders in Zürich today", "Zelensky meets leader in Zurich today"),
        ("Japan's quake toll rises to 12", "Japan quake toll rises to 12"),
        ("Bürgermeister tritt nach Streit zurück", "Eilmeldung: Burgermeister tritt nach dem Streit zurück"),
        ("東京で大きな地震、津波の心配なし", "東京で大きな地震 津波の心配なし"),
    ])
    func `a story in another spelling is the same`(one: String, other: String) throws {
        let key = try #require(FormerStoryTitle.key(one))
        #expect(FormerStoryTitle.key(other) == key)
    }

    @Test(arguments: [
        ("Quake in Japan kills 12 people", "Quake in Japan kills 13 people"),
        ("Shares in London rise 1% after vote", "Shares in London rise 11% after vote"),
        ("Shares in London change by +1 percent", "Shares in London change by -1 percent"),
        ("Mayor will resign after row over budget", "Mayor will not resign after row over budget"),
        ("Police officer shoots man in park", "Man shoots police officer in park"),
        ("Floods in Gambia kill dozens of people", "Floods in Zambia kill dozens of people"),
        ("Mayor resigns before vote on budget", "Mayor resigns after vote on budget"),
        ("Austria wins gold in women's relay", "Australia wins gold in women's relay"),
        ("Mayor resigns after row", "Mayor resigns after row, deputy takes over"),
        ("Bayern beat Dortmund 2-1 in cup final", "Bayern beat Dortmund 1-2 in cup final"),
    ])
    func `another story is another`(one: String, other: String) throws {
        let key = try #require(FormerStoryTitle.key(one))
        #expect(FormerStoryTitle.key(other) != key)
    }

    @Test(arguments: ["", "Live", "In pictures", "The week in science", "Morning briefing: the news", "地震情報", "1 2 3"])
    func `a title that could be any day's tells no story`(title: String) {
        #expect(FormerStoryTitle.key(title) == nil)
    }
}
