import Feeds
import Foundation
import HostSystem
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists

struct FeedImportTests {
    private static func document(_ outlines: String) throws -> OPMLDocument {
        try OPMLReader.read(Array("<opml><body>\n\(outlines)\n</body></opml>".utf8), contentType: nil)
    }

    private static let feed = "<outline text='Town' xmlUrl='https://town.example/f' htmlUrl='https://town.example/'/>"
    private static let added = [
        "- url: https://town.example/f", "  title: Town", "  opml: {htmlUrl: \"https://town.example/\"}",
    ]

    private static let ours = " xmlns:n='urn:x-newswire:feed-list'"
    private static let long = String(repeating: "d", count: 20_000)

    /// The text of the list `World` after one feed was put into it.
    private func appended(_ text: String) throws -> String {
        let folder = try FeedListFolder(directory: "feeds", texts: [("feeds/world.yaml", text)])
        let plan = try FeedImport(try Self.document(Self.feed), into: folder, category: "World")
        #expect(plan.report.added.map(\.file) == ["feeds/world.yaml"])
        return try #require(plan.changed.first).text
    }

    private static func lines(indent: Int, ending: String = "\n") -> String {
        added.map { String(repeating: " ", count: indent) + $0 + ending }.joined()
    }

    @Test(arguments: [
        ("the usual", "category: World\nfeeds:\n  - url: https://a.example/\n    every: 5m\n", "", 2),
        ("no last line break", "category: World\nfeeds:\n  - url: https://a.example/", "", 2),
        (
            "comments",
            "# top\ncategory: World # c\nfeeds: # f\n  # one\n  - url: https://a.example/ # x\n  # last\n",
            "", 2
        ),
        ("not indented", "category: World\nfeeds:\n- url: https://a.example/\n", "", 0),
        ("keys behind it", "category: World\nfeeds:\n    - url: https://a.example/\n", "\n# about\nevery: 5m\n", 4),
        ("a comment at its end", "category: World\nfeeds:\n  - url: https://a.example/\n", "# the end\n", 2),
        ("none yet", "category: World\nfeeds:\n", "every: 5m\n", 2),
        ("all commented out", "category: World\nfeeds:\n  # - url: https://a.example/\n", "", 2),
        ("a document's end", "---\ncategory: World\nfeeds:\n  - url: https://a.example/\n", "...\n", 2),
        ("a feed as a flow", "category: World\nfeeds:\n  - {url: https://a.example/}\n", "", 2),
    ])
    func `feeds go to the end of their list, and every other byte stays`(
        label: String,
        before: String,
        after: String,
        indent: Int
    ) throws {
        let head = before.hasSuffix("\n") ? before : before + "\n"
        #expect(try appended(before + after) == head + Self.lines(indent: indent) + after)
    }

    /// Outlines, `--category`, and the feeds taken and refused, as `category host`.
    @Test(
        arguments: [
            ("<outline><outline xmlUrl='https://a.example/'/></outline>", "World", ["World a"], []),
            ("<outline text=' '><outline xmlUrl='https://a.example/'/></outline>", "World", ["World a"], []),
            (
                "<outline text=''><outline><outline xmlUrl='https://a.example/'/></outline></outline>", "World",
                ["World a"], []
            ),
            (
                "<outline text='Town'><outline><outline xmlUrl='https://a.example/'/></outline></outline>", "World",
                ["Town a"], []
            ),
            (
                "<outline><outline text='Town'><outline xmlUrl='https://a.example/'/></outline>"
                    + "<outline xmlUrl='https://b.example/'/></outline>", "World", ["Town a", "World b"], []
            ),
            (
                "<outline><outline text='A' xmlUrl='https://a.example/'/></outline>", nil, [],
                ["A: is in no folder"]
            ),
            (
                "<outline text='Town'><outline text='P' type='HTML+XPath' xmlUrl='https://p.example/'/>"
                    + "<outline xmlUrl='https://a.example/'/></outline>", nil, ["Town a"],
                ["P: has the unsupported type 'HTML+XPath': its address is not a feed"]
            ),
            (
                "<outline text='P' type='JSON+DotNotation' xmlUrl='https://p.example/'/>", "World", [],
                ["P: has the unsupported type 'JSON+DotNotation': its address is not a feed"]
            ),
        ] as [(String, String?, [String], [String])]
    )
    func `folders without a name, and outlines that are not feeds`(
        outlines: String,
        category: String?,
        added: [String],
        refused: [String]
    ) throws {
        let folder = try FeedListFolder(directory: "feeds", texts: [])
        let report = try FeedImport(try Self.document(outlines), into: folder, category: category).report
        #expect(report.added.map { "\($0.category) \($0.url.dropFirst(8).prefix(1))" } == added)
        #expect(report.refused.map { "\($0.name): \($0.reason)" } == refused)
        #expect(report.hints.contains(.category) == (category == nil && added.isEmpty))
    }

    @Test func `an empty list in brackets is opened, line ends stay`() throws {
        let opened = "category: World\nfeeds: # soon\n" + Self.lines(indent: 2)
        #expect(try appended("category: World\nfeeds: []  # soon\n") == opened)
        let windows = "category: World\r\nfeeds:\r\n  - url: https://a.example/\r\n"
        #expect(try appended(windows) == windows + Self.lines(indent: 2, ending: "\r\n"))
    }

    @Test(arguments: [
        "category: World\nfeeds: [{url: https://a.example/}]\n",
        "{category: World, feeds: []}\n",
        "category: World\nfeeds: [\n]\n",
        "category: World\nfeeds:\n  -\n    url: https://a.example/\n",
    ])
    func `a list of another shape is left alone, and the lines to add are said`(text: String) throws {
        let folder = try FeedListFolder(directory: "feeds", texts: [("feeds/world.yaml", text)])
        let error = #expect(throws: FeedListShapeError.self) {
            _ = try FeedImport(try Self.document(Self.feed), into: folder, category: "World")
        }
        #expect(error?.lines == Self.added.map { "  \($0)" } && error?.file == "feeds/world.yaml")
    }

    @Test(arguments: [
        ("<outline text='x' xmlUrl='file:///etc/passwd'/>", "is a file"),
        ("<outline text='x' xmlUrl='http://127.0.0.1/f'/>", "is in a private network"),
        ("<outline text='x' xmlUrl='http://[::1]:80/f'/>", "is in a private network"),
        ("<outline text='x' xmlUrl='http://localhost/f'/>", "is in a private network"),
        ("<outline text='x' xmlUrl='https://nas.local./f'/>", "is in a private network"),
        ("<outline text='x' xmlUrl='ftp://a.example/'/>", "has the scheme 'ftp'"),
        ("<outline text='x' xmlUrl='a b'/>", "contains a space"),
        ("<outline text='x'/>", "has no 'xmlUrl'"),
        ("<outline text='x' type='link' url='https://a.example/'/>", "has no 'xmlUrl'"),
        ("<outline text='x' xmlUrl='https://a.example/' n:every='1s'\(ours)/>", "between 1m and 7d"),
        ("<outline text='x' xmlUrl='https://a.example/' n:evry='1s'\(ours)/>", "unknown key 'evry'"),
        ("<outline text='x' xmlUrl='https://a.example/' d='\(long)'/>", "its 'd' is longer than"),
        ("<outline text='x' xmlUrl='https://a.example/' n:language='French'\(ours)/>", "needs its main language"),
        ("<outline text='***'><outline xmlUrl='https://a.example/'/></outline>", "is not a valid category"),
        ("<outline text='from:x'><outline xmlUrl='https://a.example/'/></outline>", "is not a valid category"),
        (
            "<outline text='N' n:template='$('\(ours)><outline xmlUrl='https://a.example/'/></outline>",
            "is not a valid list: template"
        ),
    ])
    func `what cannot be taken is refused with its line, and the rest is taken`(outline: String, reason: String) throws
    {
        let document = try Self.document("\(outline)\n\(Self.feed)")
        let empty = try FeedListFolder(directory: "feeds", texts: [])
        let plan = try FeedImport(document, into: empty, category: "World", isTrusted: true)
        #expect(plan.report.refused.count == 1 && plan.report.added.count == 1)
        let refused = try #require(plan.report.refused.first)
        #expect(refused.line == 2 && refused.reason.contains(reason), "\(refused)")
    }

    @Test func `a text in a language of which no feed is taken is left out`() throws {
        let outlines = """
            <outline text='N' n:language='English' n:templates='{"French":"F","German":"G"}'\(Self.ours)>
            <outline xmlUrl='https://a.example/' n:language='French'/>
            <outline xmlUrl='http://127.0.0.1/' n:language='German'/></outline>
            """
        let empty = try FeedListFolder(directory: "feeds", texts: [])
        let plan = try FeedImport(try Self.document(outlines), into: empty, category: nil)
        #expect(plan.report.refused.count == 1 && plan.report.added.count == 1)
        #expect(plan.report.notes.contains { $0.contains("no feed in German") }, "\(plan.report.notes)")
        let list = try #require(FeedLists.parse(plan.changed.map { ($0.file, $0.text) }).lists.first)
        #expect(list.localization.templates.mapValues(\.text) == [try LanguageName("French"): "F"])
    }

    @Test func `folders, the category attribute and the option say where feeds go`() throws {
        let outlines = """
            <outline text='News'><outline text='Breaking News!' description='D'>
            <outline xmlUrl='https://a.example/'/></outline>
            <outline xmlUrl='https://b.example/'/></outline>
            <outline xmlUrl='https://c.example/' category='/Top/Sport,Other'/><outline xmlUrl='https://d.example/'/>
            <outline title='breaking_news'><outline xmlUrl='https://e.example/'/></outline>
            """
        let empty = try FeedListFolder(directory: "feeds", texts: [])
        let plan = try FeedImport(try Self.document(outlines), into: empty, category: nil)
        #expect(plan.report.added.map(\.category) == ["Breaking_News", "News", "Sport", "Breaking_News"])
        #expect(plan.report.files == ["feeds/news.yaml", "feeds/breaking-news.yaml", "feeds/sport.yaml"])
        #expect(plan.report.refused.map(\.reason) == ["is in no folder"] && plan.report.hints == [.category])
        #expect(plan.report.notes == ["the folder 'Breaking News!' becomes the category 'Breaking_News'"])
        #expect(
            plan.changed[1].text == """
                category: Breaking_News
                opml: {text: "Breaking News!", description: "D"}
                feeds:
                  - url: https://a.example/
                    opml: {category: "/News/Breaking News!"}
                  - url: https://e.example/

                """
        )
        let all = try FeedImport(try Self.document(outlines), into: empty, category: "Rest")
        #expect(all.report.added.map(\.category) == ["Breaking_News", "News", "Rest", "Rest", "Breaking_News"])
        #expect(throws: FeedChoiceError.self) {
            _ = try FeedImport(try Self.document(outlines), into: empty, category: "two words")
        }
    }

    @Test func `a feed that is already listed, or appears twice, is skipped`() throws {
        let list = "category: World\nfeeds:\n  - url: https://town.example:443/f\n"
        let folder = try FeedListFolder(directory: "feeds", texts: [("feeds/w.yaml", list)])
        let other = "<outline xmlUrl='https://o.example/'/>"
        let document = try Self.document("\(Self.feed)\n\(other)\n\(other)")
        let plan = try FeedImport(document, into: folder, category: "Sports")
        #expect(plan.report.skipped.map(\.place) == ["'feeds/w.yaml' line 3", "line 3 of the document"])
        #expect(plan.report.files == ["feeds/sports.yaml"])
    }

    @Test func `a feed in two folders is imported into both lists, and into a further list only from the own export`()
        throws
    {
        let feed = "<outline xmlUrl='https://town.example/f'/>"
        let folders = "<outline text='World'>\(feed)</outline><outline text='Sports'>\(feed)</outline>"
        let empty = try FeedListFolder(directory: "feeds", texts: [])
        let plan = try FeedImport(try Self.document(folders), into: empty, category: nil)
        #expect(plan.report.added.map(\.category) == ["World", "Sports"])
        #expect(plan.report.skipped.isEmpty)
        let list = "category: World\nfeeds:\n  - url: https://town.example/f\n"
        let folder = try FeedListFolder(directory: "feeds", texts: [("feeds/w.yaml", list)])
        for isTrusted in [false, true] {
            let plan = try FeedImport(try Self.document(folders), into: folder, category: nil, isTrusted: isTrusted)
            #expect(plan.report.added.map(\.category) == (isTrusted ? ["Sports"] : []))
        }
        // It is fetched in one way for all lists.
        let agreed = list + "    by-agreement: true\n"
        let other = try FeedListFolder(directory: "feeds", texts: [("feeds/w.yaml", agreed)])
        let skipped = try FeedImport(try Self.document(folders), into: other, category: nil, isTrusted: true)
        #expect(skipped.report.skipped.map(\.place) == ["'feeds/w.yaml' line 3", "'feeds/w.yaml' line 3"])
    }

    @Test func `a list that is there keeps its own keys`() throws {
        let list = "category: World\nevery: 5m\nfeeds: []\n"
        let folder = try FeedListFolder(directory: "feeds", texts: [("feeds/w.yaml", list)])
        let outline = """
            <outline text='world' n:every='1h' n:updates='announce'\(Self.ours)>\(Self.feed)</outline>
            """
        let plan = try FeedImport(try Self.document(outline), into: folder, category: nil)
        #expect(plan.changed.first?.text == "category: World\nevery: 5m\nfeeds:\n" + Self.lines(indent: 2))
        #expect(plan.report.notes.first?.contains("'every', 'updates'") == true)
    }

    @Test(arguments: [false, true])
    func `what only the owner may say is taken from trusted documents, and else named`(isTrusted: Bool) throws {
        let rules = "n:every='1h' n:updates='announce' n:corrections='a' n:retractions='b'"
        let outline = """
            <outline text='World' \(rules) n:exclude='x'\(Self.ours)>
            <outline xmlUrl='https://a.example/' \(rules) n:by-agreement='true' n:include='y'/></outline>
            """
        let empty = try FeedListFolder(directory: "feeds", texts: [])
        let plan = try FeedImport(try Self.document(outline), into: empty, category: nil, isTrusted: isTrusted)
        let text = try #require(plan.changed.first).text
        #expect(text.contains("exclude") && text.contains("include"))
        for key in OutlineKeys.ofOwners { #expect(text.contains(key) == isTrusted) }
        #expect(plan.report.hints == (isTrusted ? [] : [.trust]))
        let names = "'corrections', 'every', 'retractions', 'updates'"
        #expect(
            plan.report.notes.sorted()
                == (isTrusted
                    ? []
                    : [
                        "'https://a.example/': ignored in a document that is not trusted: 'by-agreement', \(names)",
                        "the list of 'World': ignored in a document that is not trusted: \(names)",
                    ])
        )
    }

    @Test func `more than lists may hold is an error, and nothing is planned`() throws {
        let empty = try FeedListFolder(directory: "feeds", texts: [])
        let many = (0...1_000).map { "<outline xmlUrl='https://a.example/\($0)'/>" }.joined()
        #expect(throws: FeedListsError.self) {
            _ = try FeedImport(try Self.document(many), into: empty, category: "World")
        }
        let lists = (0...256).map { "<outline text='c\($0)'><outline xmlUrl='https://a.example/\($0)'/></outline>" }
        #expect(throws: FeedListsError.self) {
            _ = try FeedImport(try Self.document(lists.joined()), into: empty, category: nil)
        }
    }

    @Test func `lists are written whole, with their permissions, through links`() throws {
        let scratch = try ScratchFolder()
        let directory = scratch.path + "/feeds"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let target = scratch.path + "/elsewhere.yaml"
        try Data("category: World\nfeeds: []\n".utf8).write(to: URL(filePath: target))
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: target)
        try FileManager.default.createSymbolicLink(atPath: directory + "/world.yaml", withDestinationPath: target)
        let folder = try FeedListFolder.load(directory: directory)
        let outlines = "\(Self.feed)<outline text='Sports'><outline xmlUrl='https://s.example/'/></outline>"
        try FeedImport(try Self.document(outlines), into: folder, category: "World").write()
        #expect(try FeedLists.load(directory: directory).feedCount == 2)
        #expect(try HostFile.permissions(target) == 0o640)
        #expect(try String(contentsOfFile: target, encoding: .utf8).contains("town.example"))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == ["sports.yaml", "world.yaml"]
        )
    }

    @Test func `a list that was edited meanwhile keeps the edit, and no list is written`() throws {
        let scratch = try ScratchFolder()
        let path = scratch.path + "/world.yaml"
        try Data("category: World\nfeeds: []\n".utf8).write(to: URL(filePath: path))
        let folder = try FeedListFolder.load(directory: scratch.path)
        let outlines = "<outline text='A'><outline xmlUrl='https://s.example/'/></outline>\(Self.feed)"
        let plan = try FeedImport(try Self.document(outlines), into: folder, category: "World")
        try Data("category: World\nfeeds: []  # mine\n".utf8).write(to: URL(filePath: path))
        #expect(throws: FeedListsError.self) { try plan.write() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["world.yaml"])
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("# mine"))
    }
}
