import Feeds
import Foundation
import HubProtocol
import Testing

@testable import FeedLists
@testable import FeedPublisher

@Suite struct MessageComposerTests {
    private func composer(_ extra: String = "") throws -> MessageComposer {
        let lists = try FeedLists.parse([(file: "w.yaml", text: "category: World\n\(extra)\nfeeds: []")])
        return MessageComposer(list: try #require(lists.lists.first))
    }

    private func properties(_ entry: Entry, date: Date? = nil, _ extra: String = "") throws -> MessageProperties {
        let message = try composer(extra).message(
            for: Announcement(entry: entry, index: 0, date: date),
            feedTitle: "The Example",
            idempotencyKey: "k"
        )
        #expect(message.body.count <= MessageComposer.maximumBody)
        return try MessageProperties(json: message.body)
    }

    @Test func `a message has the properties of the design`() throws {
        var entry = Entry()
        entry.title = "Mayor \"resigns\""
        entry.summary = "After a row."
        entry.link = "https://news.example/1"
        entry.author = "A. Writer"
        entry.image = "https://news.example/1.jpg"
        let found = try properties(entry, date: Date(timeIntervalSince1970: 1_780_000_000))
        #expect(
            found.names == [
                "author", "category", "feed", "image", "link", "messageParam", "published", "story", "summary", "title",
            ]
        )
        // 'newswire check' refuses other names in templates.
        let known = Set(FeedList.templateProperties)
        #expect(known.isSuperset(of: found.names))
        #expect(found["messageParam"] == "Breaking World News : Mayor \"resigns\"")
        #expect(found["published"] == "2026-05-28T20:26:40Z")
        #expect(found["feed"] == "The Example")
    }

    @Test func `a localized list adds the news in its language`() throws {
        var entry = Entry()
        entry.title = "Titre"
        let found = try properties(entry, "language: French\ntemplate: 'Flash : $(title)'")
        #expect(found["News_French"] == "Flash : Titre")
        #expect(found["Title_French"] == "Titre")
    }

    @Test func `a digest of localized messages speaks their language`() throws {
        var entry = Entry()
        entry.title = "Titre"
        let message = try composer("language: French").message(
            for: Announcement(entry: entry, index: 0, date: nil),
            feedTitle: "",
            idempotencyKey: "k"
        )
        let digest = MessageComposer.digest(of: [message, message], idempotencyKey: "d")
        let found = try MessageProperties(json: digest.body)
        #expect(found["messageParam"] == "2 more World stories: Titre; Titre")
        // Our own words are English, so a language has its titles only.
        #expect(found["News_French"] == "World (2): Titre; Titre")
        #expect(found["Title_French"] == "World (2)")
    }

    @Test func `an entry without a title is named by its first sentence, its file, or its feed`() throws {
        var entry = Entry()
        #expect(try properties(entry)["title"] == "The Example")
        entry.enclosures = [Enclosure(url: "https://news.example/audio/one.mp3")]
        #expect(try properties(entry)["title"] == "one.mp3")
        entry.summary = "First thing. Second thing."
        #expect(try properties(entry)["title"] == "First thing.")
    }

    @Test func `a summary that repeats the title is left out`() throws {
        var entry = Entry()
        entry.title = "Same"
        entry.summary = "Same"
        #expect(try properties(entry)["summary"] == nil)
    }

    @Test(arguments: ["x", "é", "新", "👩‍👩‍👧‍👦", "\"", "\\", "a" + String(repeating: "\u{301}", count: 900)])
    func `whatever an entry is made of, the body stays in its bounds`(letter: String) throws {
        var entry = Entry()
        entry.title = String(repeating: letter, count: 2_000)
        entry.summary = "s " + String(repeating: letter, count: 9_000)
        entry.author = String(repeating: letter, count: 900)
        entry.link = "https://news.example/" + String(repeating: "l", count: 900)
        entry.image = "https://news.example/" + String(repeating: "i", count: 900)
        let found = try properties(entry, "template: '$(title) $(summary)'")
        #expect((found["title"] ?? "").count <= 300)
        #expect((found["summary"] ?? "").count <= 1_000)
        #expect(found["category"] == "World")
    }

    @Test func `a clipped text ends with an ellipsis`() {
        #expect(TextClip.clip("abcdef", characters: 4) == "abc…")
        #expect(TextClip.clip("abcd", characters: 4) == "abcd")
        #expect(TextClip.clip("ab  cdef", characters: 5) == "ab…")
        #expect(TextClip.clip("abcdef", characters: .max, bytes: 5) == "ab…")
        #expect(TextClip.clip("abc", characters: .max, bytes: 0) == "")
    }

    @Test func `what tells a message's place is kept where the body is too long`() throws {
        var entry = Entry()
        entry.title = String(repeating: "\u{1}\"x", count: 300)
        entry.summary = String(repeating: "\\é", count: 2_000)
        entry.link = "https://news.example/" + String(repeating: "l", count: 900)
        var change = StoryChange(name: StoryName.of("s"))
        change.status = .correction
        change.replaces = (1...StoryChange.maximumReplaced).map { StoryName.of("\($0)") }
        let message = try composer().message(
            for: Announcement(entry: entry, index: 0, date: nil, change: change),
            feedTitle: String(repeating: "f", count: 300),
            idempotencyKey: "k"
        )
        #expect(message.body.count <= MessageComposer.maximumBody)
        let found = try MessageProperties(json: message.body)
        #expect(found["story"] == change.name)
        #expect(found["status"] == "correction")
        #expect(found["replaces"]?.split(separator: " ").count == StoryChange.maximumReplaced)
        #expect(message.replaces == change.replaces)
    }

    @Test func `a story's name fits every push service, and is the same each time`() {
        let name = StoryName.of("world", "key")
        // base32 of SHA-256 of "world\0key\0": stored, so it may never change.
        #expect(name == "udlt4n2y2g7cxur5")
        #expect(name.utf8.count == StoryName.length)
        #expect(StoryName.of("worldk", "ey") != name)
    }

    @Test func `a digest names some of its entries and counts the rest`() throws {
        let rows = (1...12).map { number in
            OutboxMessage(
                category: "World",
                tags: "World",
                body: [],
                idempotencyKey: "\(number)",
                headlines: "story \(number)",
                entries: 1,
                isDigest: false
            )
        }
        let digest = MessageComposer.digest(of: rows, idempotencyKey: "d")
        #expect(digest.entries == 12)
        #expect(digest.isDigest)
        let found = try MessageProperties(json: digest.body)
        #expect(found["title"] == "12 more World stories")
        #expect(found["summary"]?.hasSuffix("story 12; and 2 more") == true)
        let both = MessageComposer.digest(of: [digest, rows[0]], idempotencyKey: "e")
        #expect(both.entries == 13)
        let leading = MessageComposer.digest(of: rows, page: "https://example.org/news", idempotencyKey: "f")
        let texts = try MessageProperties(json: leading.body)
        #expect(texts["summary"]?.hasSuffix("story 12; and 2 more https://example.org/news") == true)
        #expect(texts["messageParam"]?.hasSuffix("story 12 https://example.org/news") == true)
    }
}
