import Feeds
import Foundation
import HubProtocol
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Lists of several languages, and what their messages say.
@Suite struct LocalizationTests {
    private static let head = "category: World\nlanguage: English\n"
    private static let french = """
        feeds:
          - url: https://a.example/en
          - url: https://a.example/fr
            language: French
        """

    private func list(_ text: String) throws -> FeedList {
        try #require(try FeedLists.parse([(file: "w.yaml", text: text)]).lists.first)
    }

    // MARK: Lists

    @Test func `a feed's language counts in place of the list's`() throws {
        let list = try list(
            Self.head + "match: id\ntemplates:\n  French: 'Flash : $(title)'\n" + Self.french
                + "\n  - url: https://a.example/uk\n    language: English"
        )
        #expect(list.localization.main?.text == "English")
        #expect(list.localization.others.map(\.text) == ["French"])
        #expect(list.localization.match == .id)
        #expect(list.feeds.map { $0.language?.text } == [nil, "French", nil])
        let title = MessageProperties(["title": "x", "category": "World"])
        #expect(list.template(in: try LanguageName("French")).render(title) == "Flash : x")
        #expect(list.template(in: nil).render(title) == "Breaking World News : x")
    }

    @Test(arguments: [
        ("category: World\n" + french, "line 4: a feed has a language, so the list needs its main language"),
        (head + french.replacing("French", with: "a b"), "line 6: language 'a b' must be letters"),
        (head + french.replacing("French", with: "english"), "'english' is spelled 'English' above"),
        (head + "match: title\n" + french, "line 3: 'match: title' must be link or id"),
        (head + "templates: x\n" + french, "line 3: 'templates' must have a text for each language"),
        (head + "templates:\n  Frensh: x\n" + french, "line 4: no feed has 'language: Frensh'; the feeds' languages"),
        (head + "templates:\n  English: x\n" + french, "line 4: 'English' is the list's main language"),
        (head + "templates:\n  French: $(title\n" + french, "line 4: template:"),
        (
            head + "feeds:\n"
                + (1...10).map { "  - url: https://a.example/\($0)\n    language: L\($0)\n" }.joined(),
            "the feeds have more than 10 languages"
        ),
    ])
    func `a mistake is named with its place`(text: String, expected: String) {
        let error = #expect(throws: FeedListsError.self) { try FeedLists.parse([(file: "w.yaml", text: text)]) }
        let found = error?.problems.map(\.description) ?? []
        #expect(found.contains { $0.contains(expected) }, "\(found)")
    }

    // MARK: Messages

    private func announcement(_ title: String, link: String? = nil) -> Announcement {
        var entry = Entry()
        entry.title = title
        entry.summary = "Summary of \(title)."
        entry.link = link
        return Announcement(entry: entry, index: 0, date: nil, change: StoryChange(name: "s"))
    }

    private func composers() throws -> [String: MessageComposer] {
        let list = try list(
            Self.head + "templates:\n  French: 'Flash : $(title) ($(feed)) $(summary)'\n" + Self.french
                + "\n  - url: https://a.example/de\n    language: German"
        )
        return [
            "English": MessageComposer(list: list),
            "French": MessageComposer(list: list, language: try LanguageName("French")),
            "German": MessageComposer(list: list, language: try LanguageName("German")),
        ]
    }

    private func message(_ language: String, link: String? = nil) throws -> OutboxMessage {
        let composer = try #require(try composers()[language])
        let announcement = announcement("\(language) title", link: link)
        return composer.message(for: announcement, feedTitle: "The \(language)", idempotencyKey: "k")
    }

    private func adding(_ language: String, to message: OutboxMessage, link: String? = nil) throws -> OutboxMessage {
        let composer = try #require(try composers()[language])
        let announcement = announcement("\(language) title", link: link)
        return composer.adding(announcement, feedTitle: "The \(language)", to: message)
    }

    private func properties(_ message: OutboxMessage) throws -> [MessageProperty: String] {
        #expect(message.body.count <= MessageComposer.maximumBody)
        return try #require(MessageComposer.properties(of: message))
    }

    @Test func `a story in another language alone says nothing in the main one`() throws {
        let message = try message("French", link: "https://a.example/fr/1")
        #expect(
            try properties(message) == [
                "category": "World", "story": "s", "feed": "The French", "link": "https://a.example/fr/1",
                "News_French": "Flash : French title (The French) Summary of French title.",
                "Title_French": "French title",
            ]
        )
        #expect(message.headlines == "French title")
        #expect(message.speaks(try LanguageName("French")) && !message.speaks(nil))
        let properties = MessageProperties(try self.properties(message))
        let standard = try #require(Template(parsing: AgentTemplate.body).render(properties))
        #expect(RenderedText.isEmpty(standard, of: AgentTemplate.body))
    }

    @Test func `whichever language comes first, one message speaks both`() throws {
        let pages = (english: "https://a.example/1", french: "https://a.example/fr/1")
        let first = try adding("French", to: message("English", link: pages.english), link: pages.french)
        let second = try adding("English", to: message("French", link: pages.french), link: pages.english)
        #expect(
            try properties(first) == [
                "category": "World", "story": "s", "feed": "The English", "link": "https://a.example/1",
                "title": "English title",
                "summary": "Summary of English title.",
                "messageParam": "Breaking World News : English title",
                "News_English": "Breaking World News : English title", "Title_English": "English title",
                "News_French": "Flash : French title (The French) Summary of French title.",
                "Title_French": "French title", "Link_French": "https://a.example/fr/1",
            ]
        )
        #expect(try properties(second) == properties(first))
        #expect(second.headlines == "English title" && first.headlines == "English title")
        #expect(second.shares == first.shares && first.shares.keys.sorted() == ["", "English", "French"])
    }

    @Test func `a main language that comes last leaves each language its page`() throws {
        var message = try message("French", link: "https://a.example/fr/1")
        message = try adding("German", to: message, link: "https://a.example/de/1")
        #expect(try properties(message)["title"] == nil && properties(message)["messageParam"] == nil)
        message = try adding("English", to: message, link: "https://a.example/1")
        let found = try properties(message)
        #expect(found["link"] == "https://a.example/1")
        #expect(found["Link_French"] == "https://a.example/fr/1" && found["Link_German"] == "https://a.example/de/1")
        #expect(found["Link_English"] == nil && found["News_German"] == "Breaking World News : German title")
    }

    @Test func `another feed of the main language is named and the translations stay`() throws {
        let both = try adding("French", to: message("English"))
        let composer = try #require(try composers()["English"])
        let named = try properties(composer.naming("The Other", in: both))
        var expected = try properties(both)
        expected["alsoFrom"] = "The Other"
        #expect(named == expected)
        let french = try #require(try composers()["French"])
        #expect(french.naming("Autre", in: both) == both)
        #expect(try properties(french.naming("Autre", in: message("French")))["alsoFrom"] == "Autre")
    }

    @Test(arguments: ["x", "é", "新", "\"", "👩‍👩‍👧‍👦"])
    func `ten languages stay within the bound, each with as much as the others`(letter: String) throws {
        let names = (1...9).map { "L\($0)" }
        let feeds = names.map { "  - url: https://a.example/\($0)\n    language: \($0)\n" }.joined()
        let list = try list(Self.head + "template: '$(title) $(summary)'\nfeeds:\n" + feeds)
        func announcement(_ language: String) -> Announcement {
            var entry = Entry()
            entry.title = language + String(repeating: letter, count: 300)
            entry.summary = String(repeating: letter, count: 1_000)
            entry.link = "https://a.example/\(language)/" + String(repeating: "l", count: 400)
            var alert = Alert()
            var info = Alert.Info()
            info.urgency = "Immediate"
            alert.info = [info]
            entry.alert = alert
            var change = StoryChange(name: "story")
            change.status = .update
            change.replaces = ["story", "other"]
            return Announcement(entry: entry, index: 0, date: nil, change: change)
        }
        var message = MessageComposer(list: list).message(
            for: announcement("L0"),
            feedTitle: "f",
            idempotencyKey: "k"
        )
        for name in names {
            let composer = MessageComposer(list: list, language: try LanguageName(name))
            message = composer.adding(announcement(name), feedTitle: "f", to: message)
        }
        let found = try properties(message)
        let sizes = names.map { found[MessageProperty(.news, of: $0)]?.utf8.count ?? 0 }
        #expect((sizes.max() ?? 0) - (sizes.min() ?? 0) <= 30, "\(sizes)")
        #expect((sizes.min() ?? 0) > 60, "\(sizes)")
        #expect(found["messageParam"]?.isEmpty == false && found["title"]?.isEmpty == false)
        #expect(found["story"] == "story" && found["status"] == "update" && found["urgency"] == "critical")
        #expect(found["replaces"] == "story other")
    }

    @Test func `story and urgency of a message are those of its body, also with an urgent translation`() throws {
        let list = try list(Self.head + Self.french)
        func announcement(isUrgent: Bool) -> Announcement {
            var entry = Entry()
            entry.title = "Flood"
            var info = Alert.Info()
            info.urgency = isUrgent ? "Immediate" : "Future"
            var alert = Alert()
            alert.info = [info]
            entry.alert = alert
            return Announcement(entry: entry, index: 0, date: nil, change: StoryChange(name: "flood"))
        }
        let composer = MessageComposer(list: list)
        let message = composer.message(for: announcement(isUrgent: false), feedTitle: "f", idempotencyKey: "k")
        #expect(try message.story == "flood" && properties(message)["story"] == "flood")
        #expect(try !message.isUrgent && properties(message)["urgency"] == nil)
        let french = MessageComposer(list: list, language: try LanguageName("French"))
        let both = french.adding(announcement(isUrgent: true), feedTitle: "f", to: message)
        #expect(try both.isUrgent && properties(both)["urgency"] == both.urgency)
        #expect(composer.message(for: announcement(isUrgent: true), feedTitle: "f", idempotencyKey: "k").isUrgent)
    }

    @Test func `a translation costs the summary before it costs the text`() throws {
        let list = try list(Self.head + Self.french)
        var long = announcement("English title")
        var entry = long.entry
        entry.summary = String(repeating: "s", count: 1_000)
        entry.image = "https://a.example/" + String(repeating: "i", count: 900)
        entry.author = String(repeating: "a", count: 200)
        long = Announcement(entry: entry, index: 0, date: nil)
        var message = MessageComposer(list: list).message(for: long, feedTitle: "f", idempotencyKey: "k")
        var translated = announcement(String(repeating: "t", count: 300), link: "https://a.example/fr/1")
        translated = Announcement(entry: translated.entry, index: 0, date: nil)
        let composer = MessageComposer(list: list, language: try LanguageName("French"))
        message = composer.adding(translated, feedTitle: "f", to: message)
        let found = try properties(message)
        #expect(found["News_French"]?.count == 322 && found["Title_French"]?.count == 300)
    }

    // MARK: Digests

    private func digest(_ rows: [OutboxMessage]) throws -> OutboxMessage {
        MessageComposer.digest(of: rows, idempotencyKey: "d")
    }

    @Test func `a digest of one language alone says nothing in the main one`() throws {
        let digest = try digest([message("French"), message("French")])
        #expect(
            try properties(digest) == [
                "category": "World", "story": StoryName.of("digest", "d"), "Title_French": "World (2)",
                "News_French": "World (2): French title; French title",
            ]
        )
        #expect(digest.entries == 2 && !digest.speaks(nil))
    }

    @Test func `a mixed digest counts and names for each language what it would have read`() throws {
        let both = try adding("French", to: message("English"))
        let first = try digest([both, message("English"), message("German")])
        let second = try digest([first, message("French")])
        #expect(
            try properties(second) == [
                "category": "World", "story": StoryName.of("digest", "d"),
                "title": "2 more World stories", "summary": "English title; English title",
                "messageParam": "2 more World stories: English title; English title",
                "News_English": "World (2): English title; English title", "Title_English": "World (2)",
                "News_French": "World (2): French title; French title", "Title_French": "World (2)",
                "News_German": "World (1): German title", "Title_German": "World (1)",
            ]
        )
        #expect(second.entries == 4)
    }

    @Test func `a digest of many names the newest in each language and counts all`() throws {
        let composer = try #require(try composers()["French"])
        let rows = (1...12).map { number in
            composer.message(for: announcement("t\(number)"), feedTitle: "f", idempotencyKey: "\(number)")
        }
        let found = try properties(digest(try [digest(Array(rows.prefix(11))), rows[11]]))
        #expect(found["News_French"] == "World (12): t3; t4; t5; t6; t7; t8; t9; t10; t11; t12")
    }
}
