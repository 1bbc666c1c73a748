import Foundation
import HubProtocol
import Mustache
import Testing

@testable import WebPages

/// The pages' files, and what templates make of models.
struct PageTemplateTests {
    static let hostile = "\"><script>x</script>'&{{frame.home}}"

    private static let frame = frame(in: .english)

    private static func frame(in words: PageWords) -> PageFrame {
        var appearance = PageAppearance()
        (appearance.title, appearance.description) = (hostile, hostile)
        appearance.logo = try? PageLogo(png: PageAppearanceTests.png)
        appearance.accent = try? AccentColour("#123456")
        var frame = PageFrame(name: "news", home: "/-/news/", appearance: appearance, words: words)
        (frame.user, frame.signIn, frame.notice, frame.manifest) = (hostile, hostile, hostile, hostile)
        (frame.trust, frame.feeds) = (hostile, hostile)
        return frame
    }

    /// A page of each kind, with all that it can show.
    static func pages(in words: PageWords = .english) throws -> [any WebPage] {
        let frame = frame(in: words)
        let shown = try storyVersion(
            7,
            [.title: hostile, .messageParam: hostile, .story: hostile, .status: "correction", .author: hostile]
        )
        let linked = try storyVersion(8, [.title: "t", .link: "https://example.org/?a=\"><script>x</script>"])
        var reader = ReaderPage(
            frame: frame,
            categories: [.init(name: hostile, isChosen: true), .init(name: "Sports", isChosen: false)],
            messages: [shown, linked].map { MessageView($0, newAfter: LogSequence(rawValue: 7), in: words) } + [
                MessageView(personal: shown, newAfter: nil, in: words),
                MessageView(secure: 7, sequence: shown.sequence, at: shown.at, link: hostile, newAfter: nil, in: words),
            ],
            filter: NewsFilter(category: hostile, search: hostile)
        )
        reader.offer(filtersBy: [shown, linked])
        reader.offer(
            [hostile: [try LanguageName("French")], "Sports": [try LanguageName("Klingon")]],
            chosen: try LanguageName("French")
        )
        reader.feeds = [.init(type: hostile, title: hostile, href: hostile)]
        (reader.events, reader.position, reader.gap, reader.push) = (hostile, hostile, hostile, hostile)
        let send = SendForm(
            frame: frame,
            platforms: ["apns", hostile],
            chosen: [hostile],
            user: hostile,
            text: hostile,
            isSecure: true,
            mayNotifyOthers: false
        )
        reader.send = send
        let moment = Timestamp(Date())
        var feeds = FeedsPage(
            frame: frame,
            links: [.init(name: hostile, address: hostile)],
            addresses: [.init(id: hostile, createdAt: moment, usedAt: moment)],
            access: .invited
        )
        (feeds.isNew, feeds.refusal) = (true, hostile)
        return [
            reader,
            ReaderPage(frame: frame, categories: [], messages: []), EntryPage(frame: frame, code: hostile),
            NoticePage(frame: frame, heading: hostile, text: hostile), feeds,
            FeedsPage(frame: frame, links: [], addresses: [], access: .accountOnly),
            CertificatePage(frame: frame, file: hostile, subject: hostile, expires: Date(), fingerprint: hostile),
        ] + people(send, frame)
    }

    /// The pages of users.
    private static func people(_ send: SendForm, _ frame: PageFrame) -> [any WebPage] {
        var signIn = SignInPage(frame: frame, user: hostile)
        (signIn.refusal, signIn.secure) = (hostile, hostile)
        let device = DevicesPage.Device(
            kind: hostile,
            id: hostile,
            platform: Platform(rawValue: hostile),
            categories: [],
            changedAt: Timestamp(Date()),
            isConfirmed: false,
            isOwn: false,
            frame: frame
        )
        let result = NotifyPage.Result(platform: hostile, outcome: hostile, reason: hostile)
        return [
            signIn, SecurePage(frame: frame, text: hostile), DevicesPage(frame: frame, devices: [device]),
            NotifyPage(frame: frame, heading: hostile, results: [result], refusal: hostile, send: send),
        ]
    }

    /// Names that a template may use: the properties of a model, of its parts, and of their parts.
    private static func names(in value: Any, depth: Int = 0) -> Set<String> {
        guard depth < 6 else { return [] }
        var found: Set<String> = []
        for child in Mirror(reflecting: value).children {
            if let label = child.label { found.insert(label) }
            found.formUnion(names(in: child.value, depth: depth + 1))
        }
        return found
    }

    /// The tags of a template and of all that it includes, without those of sections that only name a part to replace.
    private static func tags(of template: String, _ seen: inout Set<String>) -> [Substring] {
        guard seen.insert(template).inserted else { return [] }
        var found: [Substring] = []
        // Texts can have values of the page.
        let text = PageWords.english.inserted(into: WebFiles.text("\(template).mustache"), isMarkup: true)
        for match in text.matches(of: /\{\{(.*?)\}\}/) {
            let tag = match.1
            switch tag.first {
            case "<", ">": found += tags(of: String(tag.dropFirst()), &seen)
            case "#", "^", "/": if !tag.dropFirst().hasPrefix("$") { found.append(tag.dropFirst()) }
            case "$", "%", "!": break
            default: found.append(tag)
            }
        }
        return found
    }

    @Test func `a message gives a template each of its members`() throws {
        let shown = try storyVersion(8, [.title: "t", .link: "https://example.org/", .messageParam: "m", .story: "s"])
        var message = MessageView(shown, newAfter: nil)
        (message.secure, message.former, message.day, message.source) = ("7", "before", "2030-03-17", "S")
        let models: [any MustacheParent] = [message, ReaderPage.Category(name: "World", isChosen: true)]
        for model in models {
            for child in Mirror(reflecting: model).children {
                let name = try #require(child.label)
                #expect(model.child(named: name).map { "\($0)" } == Self.text(child.value), "\(name)")
            }
        }
    }

    private static func text(_ value: Any) -> String? {
        if let optional = value as? String? { return optional }
        return "\(value)"
    }

    @Test func `templates name only what their page has`() throws {
        // A page without news lacks the parts of news, and all pages have the layout.
        var known: [String: Set<String>] = [:]
        for page in try Self.pages() {
            for template in [page.template, "layout"] { known[template, default: []].formUnion(Self.names(in: page)) }
        }
        for (template, names) in known {
            var seen: Set<String> = []
            let tags = Self.tags(of: template, &seen)
            #expect(tags.count > 1)
            for tag in tags where tag != "." && tag != "title" {
                for part in tag.split(separator: ".") {
                    #expect(names.contains(String(part)), "'\(tag)' in \(template)")
                }
            }
        }
    }

    @Test func `the worker marks withdrawals by the words that agents know`() throws {
        for (name, words) in [
            ("withdrawals", MessageStatus.withdrawals), ("corrections", MessageStatus.corrections),
            ("followers", MessageStatus.followers),
        ] {
            let list = words.map { "\"\($0)\"" }.joined(separator: ", ")
            #expect(WebFiles.text("sw.js").contains("const \(name) = [\(list)];"), "\(name)")
        }
    }

    @Test func `no template writes what it has not escaped`() {
        for name in WebFiles.names where name.hasSuffix(".mustache") {
            let text = WebFiles.text(name)
            #expect(!text.isEmpty && !text.contains("{{{") && !text.contains("{{&"), "\(name)")
            let markup = text.replacing(/\{\{.*?\}\}/, with: "")
            #expect(!markup.contains("<style") && !markup.contains(" style="), "\(name)")
            #expect(!markup.contains(/\son[a-z]+=/), "\(name)")
            #expect(
                !markup.replacing(/<script type="module" async fetchpriority="low" src=""><\/script>/, with: "")
                    .contains("<script"),
                "\(name)"
            )
        }
    }

    @Test func `each page for readers is tested`() throws {
        let files = WebFiles.names.filter { $0.hasSuffix(".mustache") && !$0.hasPrefix("operator") }
        let templates = Set(files.map { String($0.dropLast(".mustache".count)) })
        let parts: Set = ["chart", "layout", "message", "operator-form", "send"]
        #expect(try Set(Self.pages().map(\.template)) == templates.subtracting(parts))
    }

    @Test func `hostile texts stay texts on every page`() throws {
        let templates = try PageTemplates()
        for page in try Self.pages() {
            let html = templates.render(page)
            #expect(html.hasPrefix("<!doctype html>") && html.contains("</html>"), "\(page.template)")
            #expect(!html.contains("<script>") && !html.contains("\"><script"), "\(page.template)")
            #expect(html.contains("&lt;script&gt;"), "\(page.template)")
            // Text is not read as a template, and nothing of a template is left.
            #expect(!html.replacing("{{frame.home}}", with: "").contains("{{"), "\(page.template)")
        }
    }

    @Test func `languages have their own names, and categories are labelled where theirs differ`() throws {
        let (french, arabic, other) = (try LanguageName("FRENCH"), try LanguageName("ar"), try LanguageName("x_1"))
        #expect((LanguageLabel(french).name, LanguageLabel(french).code) == ("français", "fr"))
        #expect((LanguageLabel(arabic).name, LanguageLabel(arabic).code) == ("العربية", "ar"))
        #expect((LanguageLabel(other).name, LanguageLabel(other).code) == ("x_1", nil))
        func page(_ spoken: [String: [LanguageName]], _ chosen: LanguageName? = nil) throws -> String {
            let categories = ["World", "Sports"].map { ReaderPage.Category(name: $0, isChosen: true) }
            var page = ReaderPage(frame: Self.frame, categories: categories, messages: [])
            page.offer(spoken, chosen: chosen)
            return try PageTemplates().render(page)
        }
        for spoken in [[:], ["World": [french]]] {
            let html = try page(spoken)
            #expect(!html.contains(#"name="language""#) && !html.contains("<small"))
        }
        let equal = try page(["World": [french, other], "Sports": [other, french]])
        #expect(equal.contains(#"<option value="FRENCH" lang="fr">français</option>"#))
        #expect(equal.contains(#"<option value="x_1">x_1</option>"#) && !equal.contains("<small"))
        #expect(!equal.contains("data-language"))
        let different = try page(["World": [french], "Sports": [arabic]], arabic)
        #expect(different.contains(#"<span>World</span> <small class="hint" lang="fr">français</small>"#))
        #expect(different.contains(#"<span>Sports</span> <small class="hint" lang="ar">العربية</small>"#))
        #expect(different.contains(#"<option value="ar" lang="ar" selected>"#))
        #expect(different.contains(#"data-language="ar" data-lang="ar""#))
        #expect(different.contains(#"You read: World, Sports (<span lang="ar">العربية</span>)"#))
    }

    @Test func `a message says in which language it is`() throws {
        let frenchOnly = try storyVersion(1, ["News_French": "Bonjour"])
        let view = MessageView(frenchOnly, newAfter: nil)
        let page = ReaderPage(frame: Self.frame, categories: [], messages: [view])
        let html = try PageTemplates().render(page)
        #expect(html.contains(#"<h3 lang="fr"><span dir="auto">Bonjour</span></h3>"#))
        #expect(html.contains("<h3><span dir=\"auto\"></span></h3>"), "the script's copy has no language")
    }

    @Test func `a page without news says so`() throws {
        let templates = try PageTemplates()
        let pages = try Self.pages()
        let hidden = #"<p id="empty" class="hint" hidden>"#
        #expect(templates.render(pages[0]).contains(hidden))
        #expect(!templates.render(pages[1]).contains(hidden))
    }

    @Test func `the program has each file of the folder, byte for byte`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = root.appending(path: "Sources/CWebFiles/files")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(files == WebFiles.names)
        for name in files {
            let bytes = try Data(contentsOf: folder.appending(path: name))
            #expect(Array(bytes) == WebFiles.bytes(name), "\(name)")
        }
    }

    @Test func `page, script and style together stay small`() throws {
        let messages = try (1...50).map {
            MessageView(try storyVersion($0, "A title of a usual length, \($0)"), newAfter: nil)
        }
        let categories = (1...100).map { ReaderPage.Category(name: "Category \($0)", isChosen: $0 < 20) }
        for words in PageWords.all where words != .pseudo {
            let page = ReaderPage(
                frame: PageFrame(name: "news", home: "/-/news/", words: words),
                categories: categories,
                messages: messages
            )
            let html = try PageTemplates().render(page).utf8.count
            let scripts = PageScripts.of(words)
            let assets = [WebAsset.style, .icon, scripts.reader, scripts.notify].reduce(0) { $0 + $1.body.count }
            #expect(html + assets <= 70_000, "\(words.language): \(html) + \(assets)")
        }
    }
}
