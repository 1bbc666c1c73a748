import Feeds
import Foundation
import HubProtocol
import Testing

@testable import FeedLists

/// Lists, written as OPML and read again into an empty directory.
struct FeedExchangeTests {
    private static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    /// What lists come back as.
    private static func exchanged(_ texts: [(file: String, text: String)]) throws -> (FeedImport, [FeedListText]) {
        let export = try FeedExport(try FeedListFolder(directory: "old", texts: texts), categories: [])
        let document = try OPMLReader.read(Array(export.text.utf8), contentType: nil)
        #expect(document.malformed == nil, "\(export.text)")
        let folder = try FeedListFolder(directory: "new", texts: [])
        let plan = try FeedImport(document, into: folder, category: nil, isTrusted: true)
        return (plan, plan.changed)
    }

    /// Keys and feeds, whatever the order of the keys.
    private static func content(_ text: FeedListText) -> ListValue {
        ListValue.mapping(text.members ?? []).sorted
    }

    private static func expectSame(
        _ texts: [(file: String, text: String)],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let (plan, back) = try exchanged(texts)
        #expect(plan.report.refused == [], sourceLocation: sourceLocation)
        #expect(plan.report.skipped == [] && plan.report.notes == [], sourceLocation: sourceLocation)
        let old = texts.map { content(FeedListText(file: $0.file, text: $0.text)) }
        for (new, old) in zip(back.map(content), old) where new != old {
            Issue.record("\(new.yaml)\n\(old.yaml)", sourceLocation: sourceLocation)
        }
        let (first, second) = (try FeedLists.parse(texts), try FeedLists.parse(back.map { ($0.file, $0.text) }))
        for (left, right) in zip(first.lists, second.lists) {
            #expect(left.category.text == right.category.text && left.template.text == right.template.text)
            #expect(left.feeds.map(\.address) == right.feeds.map(\.address), sourceLocation: sourceLocation)
            #expect(left.feeds.map(\.rules) == right.feeds.map(\.rules), sourceLocation: sourceLocation)
            #expect(left.feeds.map(\.language) == right.feeds.map(\.language), sourceLocation: sourceLocation)
            let (old, new) = (left.localization, right.localization)
            #expect(old.main == new.main && old.others == new.others && old.match == new.match)
            #expect(old.templates.mapValues(\.text) == new.templates.mapValues(\.text))
        }
    }

    @Test func `the lists of the repository come back as they are`() throws {
        let lists = try FeedListFolder.load(directory: "\(Self.repository)/feeds")
        #expect(lists.lists.lists.count == 6)
        try Self.expectSame(lists.texts.map { ($0.file, $0.text) })
    }

    @Test func `every key comes back, and a list without feeds`() throws {
        let full = """
            category: World
            template: "A $(title)\\n\\u0001 end"
            language: English
            templates: {French: "Flash : $(title)", German: "$(feed): $(title)"}
            match: id
            every: 20m
            include: [quake*, "prime, minister", "[x]"]
            exclude: sponsored
            updates: announce
            future: hold
            corrections: ["correction:", Berichtigung]
            retractions: retracted
            notBefore: 07:00
            opml: {text: "World News", created: "Fri, 20 Nov 2026 10:00:00 GMT", "{urn:x}y": " z "}
            feeds:
              - url: https://user:pass@example.org/a?b=1&amp;c=2#d
                title: "<b>Not bold</b> &amp; so"
                every: 5m
                by-agreement: true
                include: "{a}"
                exclude: ["\\"quoted\\"", 'it''s']
                updates: ignore
                future: announce
                language: French
                corrections: corrigé
                retractions: ["rétracté", "retiré"]
                notBefore: 00:00
                opml:
                  htmlUrl: https://example.org/
                  type: atom
                  text: other
                  category: /News/World,Sports
                  description: ""
              - url: https://example.org/b
                title: https://example.org/b
                language: German
              - {url: https://example.org/c, opml: {text: t, title: u, type: rss, xmlUrl: v, url: w}}
            """
        try Self.expectSame([("a.yaml", full), ("b.yaml", "category: Sports\nfeeds: []\n")])
    }

    @Test func `random lists come back as they are`() throws {
        var generator = SeededGenerator(state: 7)
        for round in 0..<300 {
            var random = RandomList(generator: generator)
            let texts = (0..<Int.random(in: 1...3, using: &generator)).map { number in
                (file: "\(number).yaml", text: random.list(number, round: round))
            }
            generator = random.generator
            try Self.expectSame(texts)
        }
    }

    @Test func `keys of a feed's requests stay on this machine, in both directions`() throws {
        let list = """
            category: World
            feeds:
              - url: https://example.org/a
                every: 20m
                headers: {X-Edition: inland}
                headers-file: /etc/newswire/a.headers
                user-agent: Special/1
                cookies: true
                authority-file: /etc/ca.pem
            """
        let folder = try FeedListFolder(directory: "old", texts: [("a.yaml", list)])
        let export = try FeedExport(folder, categories: [])
        let keys = ["headers", "headers-file", "user-agent", "cookies", "authority-file"]
        #expect(export.withoutKeys.map { $0.keys } == [keys])
        let revealed = ["X-Edition", "inland", "a.headers", "Special", "cookies", "ca.pem"]
        #expect(!revealed.contains { export.text.contains($0) }, "\(export.text)")
        let attributes = keys.map { "newswire:\($0)=\"\($0 == "cookies" ? "true" : "/etc/shadow")\"" }
        let hostile = export.text.replacing("xmlUrl=", with: attributes.joined(separator: " ") + " xmlUrl=")
        let document = try OPMLReader.read(Array(hostile.utf8), contentType: nil)
        let empty = try FeedListFolder(directory: "new", texts: [])
        let plan = try FeedImport(document, into: empty, category: nil, isTrusted: true)
        let text = try #require(plan.changed.first).text
        #expect(
            text.contains("every: 20m") && !keys.contains { text.contains($0) } && !text.contains("shadow"),
            "\(text)"
        )
        #expect(keys.allSatisfy { key in plan.report.notes.contains { $0.contains("'\(key)' is ignored") } })
    }

    @Test func `local feeds stay out, in both directions`() throws {
        let list = """
            category: World
            feeds:
              - url: file:///srv/own.xml
                local: true
              - url: http://intranet.example/feed
                local: true
                every: 1s
              - url: https://example.org/a
                local: false
              - url: https://me:secret@example.org/b
            """
        let folder = try FeedListFolder(directory: "old", texts: [("a.yaml", list)])
        let export = try FeedExport(folder, categories: ["world"])
        #expect(export.leftOut.map(\.text) == ["file:///srv/own.xml", "http://intranet.example/feed"])
        #expect(export.withCredentials.map(\.display) == ["https://example.org/b"])
        #expect(!export.text.contains("local"))
        let hostile = export.text.replacing("xmlUrl=", with: "newswire:local=\"true\" xmlUrl=")
        let document = try OPMLReader.read(Array(hostile.utf8), contentType: nil)
        let plan = try FeedImport(document, into: try FeedListFolder(directory: "new", texts: []), category: nil)
        #expect(plan.changed.count == 1 && !plan.changed.contains { $0.text.contains("local") })
        #expect(plan.report.added.count == 2 && plan.report.notes.count == 2)
        #expect(throws: FeedChoiceError.self) { try FeedExport(folder, categories: ["Wrld"]) }
    }
}

/// SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

/// Makes lists of every key that the reader knows, with texts that are hard to write.
private struct RandomList {
    var generator: SeededGenerator

    private static let pieces = [
        "a", "word", " ", "&", "<b>", "&amp;", "\"", "'", ":", ": ", " #", "#", "[", "{", "]", "\n", "\t", "\\",
        "é", "日本", "😀", "\u{85}", "\u{2028}", "\u{7F}", "\u{1}", "-", "!", "%", "~", "null", "true", "1e3", "/", "$",
    ]

    private mutating func text() -> String {
        let text = (0..<Int.random(in: 1...5, using: &generator)).map { _ in pick(Self.pieces) }.joined()
        return text
    }

    private mutating func pick<T>(_ values: [T]) -> T { values[Int.random(in: 0..<values.count, using: &generator)] }

    private mutating func maybe(_ name: String, _ value: (inout RandomList) -> ListValue) -> [ListMember] {
        Bool.random(using: &generator) ? [ListMember(name, value(&self))] : []
    }

    private mutating func rules() -> [ListMember] {
        maybe("include") { random in .list((0..<3).map { .text("w\($0) \(random.text())") }) }
            + maybe("exclude") { .text("x\($0.text().filter { $0 != "*" })") }
            + maybe("updates") { .text($0.pick(["announce", "ignore"])) }
            + maybe("future") { .text($0.pick(["announce", "hold"])) }
            + maybe("every") { .text($0.pick(["1m", "90s", "2h", "7d"])) }
            + maybe("opml") { random in
                let names = ["htmlUrl", "text", "title", "type", "category", "url", "{urn:a}b", "xmlUrl", "isComment"]
                return .mapping(
                    Set((0..<3).map { _ in random.pick(names) }).sorted().map { name in
                        ListMember(name, .text(random.pick(["", "rss", "/World", random.text()])))
                    }
                )
            }
    }

    mutating func list(_ number: Int, round: Int) -> String {
        let category = pick(["World", "a_b", "Ünïcode", "x.y:z@#-"]) + "\(number)"
        var members = rules()
        members += maybe("template") { .text("T$(title) " + $0.text().filter { $0 != "{" && $0 != "$" }) }
        members += maybe("language") { .text($0.pick(["French", "x_1"])) }
        let feeds = (0..<Int.random(in: 0...4, using: &generator)).map { feed in
            let path =
                pick(["", "a?b=c&amp;d", "%20", "x;y=1,2", "é", "?a&copy=1", "'"]) + "?\(number)-\(feed)-\(round)"
            return [ListMember("url", .text("https://h\(feed).example/\(path)"))] + maybe("title") { .text($0.text()) }
                + rules() + maybe("by-agreement") { .text($0.pick(["true", "false"])) }
        }
        return FeedListText(file: "", category: category, members: members, feeds: feeds).text
    }
}
