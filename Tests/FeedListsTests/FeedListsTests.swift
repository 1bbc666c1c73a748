import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists

@Suite struct FeedListsTests {
    private func problems(_ texts: [String]) -> [String] {
        let files = texts.enumerated().map { (file: "\($0.offset).yaml", text: $0.element) }
        do {
            _ = try FeedLists.parse(files)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test func `a strict reader refuses properties that no message has, and addresses that need 'local'`() throws {
        let text = """
            category: World
            language: English
            template: "$(titel) by $(author) $(Title_English) $(Title_Klingon) $$(kept) $(place)"
            templates:
              French: "Flash : $(News_English) $(authr)"
            feeds:
              - url: https://example.org/world.rss
              - url: http://192.168.1.5/feed
              - url: http://[::1]:8080/feed
              - url: http://nas/feed
              - url: https://example.org/monde.rss
                language: French
              - url: http://nas.local/feed
                local: true
            """
        #expect(problems([text]) == [])
        let error = #expect(throws: FeedListsError.self) {
            try FeedLists.parse([(file: "a.yaml", text: text)], isStrict: true)
        }
        let found = try #require(error).problems.map(\.description)
        let expected = [
            "line 8: feed of '192.168.1.5' is in your own network, which needs 'local: true'",
            "line 9: feed of '::1' is in", "line 10: feed of 'nas' is in",
            "line 3: template: messages have no property 'place': known are title, summary,",
            "line 3: template: messages have no property 'titel': did you mean 'title'?",
            "line 3: template: messages have no property 'title_klingon': ",
            "line 5: template: messages have no property 'authr': did you mean 'author'?",
        ]
        #expect(found.count == expected.count, "\(found)")
        for (line, start) in zip(found, expected) { #expect(line.contains(start), "\(line)") }
    }

    @Test func `a list as the design shows it is read whole`() throws {
        let lists = try FeedLists.parse([
            (
                file: "world.yaml",
                text: """
                category: World                                    # the tag
                template: "Breaking $(category) News : $(title)"   # becomes messageParam
                feeds:
                  - url: https://example.org/world.rss
                    every: 5m
                  - url: file:///srv/own.xml
                    local: true
                    title: Town hall
                """
            )
        ])
        let list = try #require(lists.lists.first)
        #expect(list.category.text == "World")
        #expect(list.feeds.map(\.address.text) == ["https://example.org/world.rss", "file:///srv/own.xml"])
        #expect(list.feeds.map { $0.interval?.seconds } == [300, nil])
        #expect(list.feeds.map(\.isLocal) == [false, true])
        #expect(list.feeds.map(\.title) == [nil, "Town hall"])
        #expect(list.feeds.map(\.line) == [4, 6])
    }

    @Test func `the category, feeds and a template are what a list needs, the template least`() throws {
        let lists = try FeedLists.parse([(file: "a.yaml", text: "category: World\nfeeds: []")])
        #expect(lists.lists.first?.template.text == FeedList.standardTemplate)
        #expect(problems(["{}"]).count == 2)
    }

    @Test(arguments: [
        ("category: World\nfeds: []", "line 2: unknown key 'feds': did you mean 'feeds'?"),
        (
            "category: World\nfeeds:\n  - url: https://a.example/\n    evry: 5m",
            "line 4: unknown key 'evry': did you mean 'every'?"
        ),
        (
            "category: World\nfeeds:\n  - url: https://a.example/\n    every: 5 minutes",
            "line 4: 'every: 5 minutes' is not a time"
        ),
        (
            "category: World\nfeeds:\n  - url: https://a.example/\n    every: 10s",
            "line 4: 'every: 10s' must be between 1m and 7d"
        ),
        (
            "category: World\nfeeds:\n  - url: https://a.example/\n    local: maybe",
            "line 4: 'local' must be true or false"
        ),
        ("category: World\nfeeds:\n  - url: ftp://a.example/", "line 3: feed of 'a.example' has the scheme 'ftp'"),
        ("category: World\nfeeds:\n  - url: file:///etc/passwd", "is a file, which needs 'local: true'"),
        ("category: World\nfeeds:\n  - url: example.org/world", "line 3: 'url' is not a URL"),
        ("category: World\nfeeds:\n  - url: https:///x", "has no host"),
        (
            "category: World\nfeeds:\n  - url: https://a.example:99999/",
            "line 3: feed of 'a.example' has a port that is not a number up to 65535"
        ),
        ("category: World\nfeeds:\n  - title: x", "a feed has no 'url:'"),
        ("category: World\nfeeds: no", "'feeds' must be a list"),
        ("category: two words\nfeeds: []", "'two words' is not a valid category"),
        ("category: username:eve\nfeeds: []", "is a reserved tag"),
        ("category: World\ntemplate: $(title\nfeeds: []", "line 2: template:"),
        ("category: World\nlanguage: en-GB\nfeeds: []", "language 'en-GB' must be letters"),
        ("category: World\ncategory: Sports\nfeeds: []", "appears twice"),
        ("category: [World\nfeeds: []", "is not YAML"),
        ("- just\n- a list", "must hold 'category:' and 'feeds:'"),
        ("", "must hold 'category:' and 'feeds:'"),
    ])
    func `a mistake is named with its place`(text: String, expected: String) {
        let found = problems([text])
        #expect(found.contains { $0.contains(expected) }, "\(found)")
    }

    private func feed(_ keys: String) -> String { "category: World\nfeeds:\n  - url: https://a.example/\n    \(keys)" }

    @Test(arguments: [
        ("headers: [a]", "'headers' must be names with texts"),
        ("headers: {X-A: [b]}", "'headers': 'X-A' must be a text"),
        (#"headers: {X-A: "b\r\nHost: evil"}"#, "the header 'X-A' contains a line break or another control character"),
        (#"headers: {"X-A: b\r\nX-B": c}"#, "is not a valid header name"),
        ("headers: {\"\": c}", "is not a valid header name"),
        ("headers: {Host: evil.example}", "the header 'Host' is set by newswire"),
        ("headers: {Content-Length: 5}", "is set by newswire"),
        ("headers: {Transfer-Encoding: chunked}", "is set by newswire"),
        ("headers: {If-None-Match: x}", "is set by newswire"), ("headers: {Accept-Encoding: br}", "is set by newswire"),
        ("headers: {User-Agent: x}", "use the key 'user-agent'"),
        ("headers: {Authorization: Bearer x}", "'Authorization' is secret: put it into a file"),
        ("headers: {COOKIE: a=b}", "'COOKIE' is secret"), ("headers: {X-Api-Key: a}", "'X-Api-Key' is secret"),
        ("headers: {Private-Token: a}", "'Private-Token' is secret"),
        ("headers: {X-A: a, x-a: b}", "'x-a' appears twice"),
        ("headers-file: [a]", "'headers-file' must be a text"), ("authority-file: \"a\\0b\"", "is not a valid path"),
        ("cookies: maybe", "'cookies' must be true or false"),
        (#"user-agent: "a\nX-B: c""#, "'user-agent' must be a text of one line"),
    ])
    func `keys of a request that would break or reveal it are refused`(keys: String, expected: String) {
        let found = problems([feed(keys)])
        #expect(found.count == 1 && found[0].contains("line 4: ") && found[0].contains(expected), "\(found)")
        #expect(!found.contains { $0.contains("evil") })
    }

    @Test func `names of files that differ in their bytes are two lists, each with its stamp`() throws {
        let folder = try ScratchFolder()
        for (name, category) in [("\u{E9}", "World"), ("e\u{301}", "Sports")] {
            let text = "category: \(category)\nfeeds:\n  - url: https://example.org/\(category)\n"
            try text.write(toFile: folder.file("\(name).yaml"), atomically: true, encoding: .utf8)
        }
        let lists = try FeedLists.load(directory: folder.path)
        #expect(Set(lists.categories.map(\.text)) == ["World", "Sports"])
        #expect(lists.stamps == FeedLists.Stamps(directory: folder.path))
        try FileManager.default.moveItem(atPath: folder.file("e\u{301}.yaml"), toPath: folder.file("f.yaml"))
        #expect(lists.stamps != FeedLists.Stamps(directory: folder.path))
    }

    @Test func `keys of a request are read, and headers also from a file`() throws {
        let folder = try ScratchFolder()
        let secret = folder.file("secret.headers")
        try "# the token\n\nAuthorization: Bearer a:b\r\n X-Empty :\n".write(
            toFile: secret,
            atomically: true,
            encoding: .utf8
        )
        let keys = [
            "headers: {Accept-Language: 'de, en'}", "headers-file: secret.headers", "user-agent: Special/1",
            "cookies: true",
            "authority-file: /etc/ca.pem",
        ]
        let text = feed(keys.joined(separator: "\n    "))
        let lists = try FeedLists.parse([(file: folder.file("a.yaml"), text: text)])
        let source = try #require(lists.lists.first?.feeds.first)
        #expect(source.access.headersFile == secret, "relative to the list")
        #expect((source.access.userAgent, source.access.keepsCookies) == ("Special/1", true))
        #expect(source.access.authorityFile == "/etc/ca.pem")
        let headers = try source.access.allHeaders().map { "\($0.name)=\($0.value)" }
        #expect(headers == ["Accept-Language=de, en", "Authorization=Bearer a:b", "X-Empty="])
        for (content, expected) in [
            ("no colon secret", "line 1 is not a header such as"), ("Host: secret", "'Host' is set by newswire"),
            ("A: 1\na: secret", "line 2: the header 'a' appears twice"), ("A: \u{1}secret", "contains a line break"),
            ("accept-language: secret", "appears twice"),
        ] {
            try content.write(toFile: secret, atomically: true, encoding: .utf8)
            let error = #expect(throws: FeedAccessError.self) { try source.access.allHeaders() }
            let said = error?.description ?? ""
            #expect(said.contains(expected) && !said.contains("secret "), "\(said)")
        }
        var missing = source.access
        missing.headersFile = folder.file("none")
        #expect(throws: FeedAccessError.self) { try missing.allHeaders() }
        #expect(problems(["category: World\nfeeds:\n  - {url: 'file:///a', local: true, cookies: true}"]).count == 1)
    }

    @Test(arguments: [
        ("feed://a.example/x", "http://a.example/x"), ("feed:https://a.example/x", "https://a.example/x"),
        ("HTTP://A.example/x", "http://a.example/x"), ("Feed://A.example/x", "http://a.example/x"),
    ])
    func `an address is read in every spelling of its scheme`(text: String, expected: String) throws {
        #expect(try FeedAddress(parsing: text, allowsFile: false).comparable == expected)
        #expect(FeedAddress.isWeb(text))
    }

    @Test func `all problems of all files come together`() {
        let found = problems([
            "category: World\ncolour: red\nfeeds:\n  - url: nonsense\n  - adress: https://a.example/",
            "categori: Sports\nfeeds: []",
        ])
        #expect(found.count == 6, "\(found)")
        #expect(found.contains { $0.hasPrefix("'1.yaml' line 1: unknown key 'categori': did you mean 'category'?") })
    }

    @Test func `one feed twice in a list is refused, however it is spelled`() {
        let found = problems([
            "category: World\nfeeds:\n  - url: https://Example.org:443/a#top\n  - url: https://example.org/a"
        ])
        #expect(found == ["'0.yaml' line 4: feed 'https://example.org/a' is already listed in '0.yaml' line 3"])
    }

    @Test func `one feed in several lists is fetched once, at the shortest interval`() throws {
        let lists = try FeedLists.parse([
            ("w.yaml", "category: World\nevery: 1h\nfeeds:\n  - url: https://Example.org:443/a#top"),
            ("s.yaml", "category: Sports\nevery: 5m\nfeeds:\n  - url: https://example.org/a"),
            ("t.yaml", "category: Top\nfeeds:\n  - url: https://example.org/b\n  - url: https://example.org/a"),
        ])
        #expect(lists.feedCount == 2)
        let feed = try #require(lists.feeds.first)
        #expect(lists.feeds.map(\.members.count) == [3, 1])
        #expect(feed.members.map(\.list.category.text) == ["World", "Sports", "Top"])
        #expect(feed.source.interval == PollInterval(parsing: "5m"))
        #expect(feed.source.address == feed.members[0].source.address)
        #expect(feed.members[0].source.interval == PollInterval(parsing: "1h"))
    }

    @Test func `lists that would fetch a feed in different ways are an error`() {
        let found = problems([
            "category: World\nfeeds:\n  - url: https://example.org/a\n    by-agreement: true",
            "category: Sports\nfeeds:\n  - url: https://example.org/a\n    local: true",
        ])
        #expect(
            found == [
                "'1.yaml' line 3: feed 'https://example.org/a' is fetched once for all lists, but 'local', "
                    + "'by-agreement' differs from '0.yaml' line 3: write the same value in both"
            ]
        )
    }

    @Test func `one category in two files is refused, whatever its letters' case`() {
        let found = problems(["category: World\nfeeds: []", "category: world\nfeeds: []"])
        #expect(found == ["'1.yaml': category 'world' is already listed in '0.yaml'"])
    }

    @Test func `a directory is read in the order of its files, and one that is not there is named`() throws {
        let folder = try ScratchFolder()
        try "category: World\nfeeds: []".write(toFile: folder.file("b.yaml"), atomically: true, encoding: .utf8)
        try "category: Art\nfeeds: []".write(toFile: folder.file("a.yml"), atomically: true, encoding: .utf8)
        try "not read".write(toFile: folder.file("README.md"), atomically: true, encoding: .utf8)
        #expect(try FeedLists.load(directory: folder.path).categories.map(\.text) == ["Art", "World"])

        let error = #expect(throws: FeedListsError.self) { try FeedLists.load(directory: folder.file("none")) }
        #expect(error?.description.contains("no such file") == true, "\(String(describing: error))")
        try Data([0xFF, 0xFE]).write(to: URL(filePath: folder.file("c.yaml")))
        #expect(throws: FeedListsError.self) { try FeedLists.load(directory: folder.path) }
    }

    @Test func `a directory without lists is a mistake`() throws {
        let folder = try ScratchFolder()
        let error = #expect(throws: FeedListsError.self) { try FeedLists.load(directory: folder.path) }
        #expect(error?.description.contains("no feed list") == true)
    }

    @Test(arguments: [
        "https://me:pwd@host.example:99999/f?token=pwd", "https://me:p/pwd@host.example/", "ftp://me:pwd@host.example/",
        "https://me:pwd@host.example/a b", "me:pwd@host.example", "https://pwd:pwd:pwd@/", "https://me:99999/pwd@x/",
    ])
    func `no secret of an address that is wrong is quoted`(url: String) {
        let found = problems(["category: World\nfeeds:\n  - url: '\(url)'"])
        #expect(found.count == 1 && !found[0].contains("pwd"), "\(found)")
    }

    @Test func `credentials in an address are not shown`() throws {
        let address = try FeedAddress(parsing: "https://me:secret@example.org/a?b=@c", allowsFile: false)
        #expect(address.display == "https://example.org/a?b=@c")
        #expect(address.host == "example.org")
    }

    /// What may be private is decided by this: two readings of one text would be a way round it.
    @Test(arguments: [
        ("https://Example.org:443/a", "http://example.org/b", true), ("http://0x7f.1/", "http://127.0.0.1/a", true),
        ("http://bücher.example/", "http://xn--bcher-kva.example/", true),
        ("http://127.0.0。1/", "http://127.0.0.1/", true),
        ("http://example.org/", "http://example.org:8080/", false), ("http://a@example.org/", "http://a/", false),
        ("http://b.example/", "http://a.example/@b.example", false),
        ("http://b.example/", "http://a\\@b.example/", true),
    ])
    func `an address is of the site that requests go to`(one: String, other: String, isShared: Bool) throws {
        let one = try FeedAddress(parsing: one, allowsFile: false)
        #expect(try one.sharesSite(with: FeedAddress(parsing: other, allowsFile: false)) == isShared)
    }

    @Test(arguments: ["http://ü..example/", "https://[::1/"])
    func `an address that no request could be sent to is a mistake in the list`(text: String) {
        let error = #expect(throws: FeedAddressError.self) { try FeedAddress(parsing: text, allowsFile: false) }
        #expect(error?.description.hasPrefix("cannot be fetched: ") == true)
    }
}
