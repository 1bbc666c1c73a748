import Crypto
import Formats
import Foundation
import HTTPTypes
import HubClient
import HubProtocol
import HubRouting
import HubStore
import OutboundHTTP
import SQLiteFiles
import Testing
import WebPages

@testable import HubServer
@testable import PageServer

/// The reader's page, its form and its files.
struct ReaderTests {
    @Test(
        arguments: [
            "username:ann", "USERNAME:ann", "from:ann", "$InstallationId:{x}", "$UserId:{ann}", "vip:ann", "a b", "",
            "World\nSports", String(repeating: "x", count: 200),
        ]
    )
    func `a tag about a person, or none at all, is not chosen`(tag: String) async throws {
        let reserved = try ReservedTagPrefixes(["username:", "from:", "vip:"])
        try await PagesHub.run(.public, configure: { $0.reservedTags = reserved }) { hub in
            let form = "category=World&category=\(PercentEncoding.encode(tag))"
            let reply = try await hub.send("POST", "/-/news/categories", form: form)
            #expect(reply.status == 400 && reply.headers["Set-Cookie"] == nil, "\(reply.status)")
            #expect(try await hub.sessions().isEmpty)
            let cookie = try await hub.reader(of: "World")
            let chosen = try await hub.sessions()
            let changed = try await hub.send("POST", "/-/news/categories", cookie: cookie, form: form)
            #expect(changed.status == 400)
            #expect(try await hub.sessions() == chosen)
        }
    }

    @Test func `a tag that is not a category of the hub is not chosen`() async throws {
        try await PagesHub.run(.public) { hub in
            let refused = try await hub.send("POST", "/-/news/categories", form: "category=World&category=staff")
            #expect(refused.status == 400 && refused.headers["Set-Cookie"] == nil)
            #expect(try await hub.sessions().isEmpty)
            let spelled = try await hub.send("POST", "/-/news/categories", form: "category=wORLD")
            #expect(spelled.status == 303)
            #expect(try await hub.sessions().values.map(\.self) == [#"["World"]"#])
        }
    }

    @Test func `a chosen category whose publisher spells it in another way is on the page once`() async throws {
        try await PagesHub.run(.public) { hub in
            try await hub.client.setCategories(["Storms"], publisher: "desk")
            let cookie = try await hub.reader(of: "Storms")
            try await hub.client.setCategories(["STORMS"], publisher: "desk")
            let page = try await hub.send("GET", "/-/news/", cookie: cookie).body
            #expect(page.contains(#"value="STORMS" checked"#) && !page.contains(#"value="Storms""#))
        }
    }

    @Test func `a reader has so many categories at most`() async throws {
        try await PagesHub.run(.public) { hub in
            let names = (1...ReaderChoice.maximumCategories + 1).map { "c\($0)" }
            try await hub.client.setCategories(names, publisher: "desk")
            func form(_ count: Int) -> String { (1...count).map { "category=c\($0)" }.joined(separator: "&") }
            let most = ReaderChoice.maximumCategories
            for (count, status) in [(most, 303), (most + 1, 400)] {
                let reply = try await hub.send("POST", "/-/news/categories", form: form(count))
                #expect(reply.status == status, "\(count)")
            }
            let repeated = try await hub.send("POST", "/-/news/categories", form: form(most) + "&" + form(most))
            #expect(repeated.status == 303)
        }
    }

    @Test func `a choice of more categories than an installation may have tags is refused`() async throws {
        try await PagesHub.run(.public, configure: { $0.maximumTags = 3 }) { hub in
            try await hub.client.setCategories(["a", "b", "c"], publisher: "desk")
            for (form, status) in [("category=a&category=b", 303), ("category=a&category=b&category=c", 400)] {
                let reply = try await hub.send("POST", "/-/news/categories", form: form)
                #expect(reply.status == status, "\(reply.body)")
            }
        }
    }

    @Test func `a cookie is bound to this host wherever nobody can read along`() async throws {
        try await PagesHub.run(.public) { hub in
            let reply = try await hub.send("POST", "/-/news/categories", form: "category=World")
            let setting = try #require(reply.headers["Set-Cookie"])
            let parts = setting.split(separator: "; ").map(String.init)
            #expect(parts.first?.hasPrefix("__Host-newswire-news=") == true)
            let seconds = ReaderSession.lifetime.components.seconds
            let attributes = ["Max-Age=\(seconds)", "Path=/", "HttpOnly", "SameSite=Lax", "Secure"]
            #expect(Array(parts.dropFirst()) == attributes)
            let again = try await hub.send(
                "POST",
                "/-/news/categories",
                cookie: String(setting.prefix { $0 != ";" }),
                form: "category=Sports"
            )
            #expect(again.status == 303 && again.headers["Set-Cookie"] == nil)
        }
        let (name, secret) = (try HubName("news"), SessionSecret.random())
        let plain = SessionCookie(hub: name, isPrivate: false)
        let setting = plain.setting(secret, for: .seconds(60))
        #expect(setting == "newswire-news=\(secret.text); Max-Age=60; Path=/; HttpOnly; SameSite=Lax")
        let several: HTTPFields = [
            .cookie: "a=b; newswire-newsx=\(SessionSecret.random().text); newswire-news=\(secret.text)"
        ]
        #expect(plain.secret(in: several) == secret)
        #expect(SessionCookie(hub: name, isPrivate: true).secret(in: several) == nil)
    }

    @Test func `a hub's pages have its title, picture and colour, and its app the same`() async throws {
        var appearance = PageAppearance()
        (appearance.title, appearance.description) = ("Town news", "What happens in town")
        let png =
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
            + [0, 0, 0, 64, 0, 0, 0, 32] + [UInt8](repeating: 0, count: 20)
        appearance.logo = try PageLogo(png: png)
        appearance.accent = try AccentColour("#005a9c")
        try await PagesHub.run(.public, appearances: [try HubName("news"): appearance]) { hub in
            let page = try await hub.send("GET", "/-/news/").body
            #expect(page.contains("<span>Town news</span>"))
            #expect(page.contains("<p class=\"lead\">What happens in town</p>"))
            let address = /"(\/-\/assets\/(?:logo|accent)\.[0-9a-f]{12}\.(?:png|css))"/
            let files = page.matches(of: address).map { String($0.output.1) }
            #expect(Set(files).count == 2)
            for file in Set(files) {
                let reply = try await hub.send("GET", file)
                #expect(reply.status == 200 && reply.headers["X-Content-Type-Options"] == "nosniff", "\(file)")
                let type = file.hasSuffix("png") ? "image/png" : "text/css"
                #expect(reply.headers["Content-Type"]?.hasPrefix(type) == true)
            }
            let manifest = try await hub.send("GET", "/-/news/manifest.webmanifest").body
            #expect(manifest.contains(#""name":"Town news""#) && manifest.contains(#""sizes":"64x32""#))
            #expect(manifest.contains(##""theme_color":"#005a9c""##))
            let other = try await hub.send("GET", "/-/\(PagesHub.others[0])/").body
            #expect(!other.contains("Town news") && !other.contains("/logo."))
        }
    }

    @Test func `a search shows the news with its words, changes nothing, and is limited`() async throws {
        try await PagesHub.run(.public, nodes: 1) { hub in
            for (title, category) in [("Bridge reopens", "World"), ("Late goal", "Sports")] {
                let properties = MessageProperties([.title: title, .category: category])
                _ = try await hub.client.send(OutgoingMessage(properties.encoded(), tags: category))
            }
            func titles(_ query: String, cookie: String? = nil) async throws -> [String] {
                let page = try await hub.send("GET", "/-/news/?\(query)", cookie: cookie).body
                return page.matches(of: /<span dir="auto">([^<]+)<\/span>/).map { String($0.output.1) }
            }
            #expect(try await titles("category=World") == ["Bridge reopens"])
            #expect(try await titles("q=GOAL") == ["Late goal"])
            #expect(try await titles("q=goal&category=World") == [])
            #expect(try await titles("q=%3Cscript%3E") == [])
            #expect(try await titles("") == ["Late goal", "Bridge reopens"])
            let cookie = try await hub.reader(of: "World")
            let page = try await hub.send("GET", "/-/news/?q=bridge", cookie: cookie).body
            #expect(page.contains("Bridge reopens") && !page.contains("data-events"))
            var statuses: [Int] = []
            for _ in 0..<PageServer.searchesPerMinute {
                statuses.append(try await hub.send("GET", "/-/news/?q=a").status)
            }
            #expect(statuses.first == 200 && statuses.last == 429, "\(statuses)")
            #expect(try await hub.send("GET", "/-/news/?category=World").status == 429)
            #expect(try await hub.send("GET", "/-/news/?category=World", cookie: cookie).status == 200)
            #expect(try await titles("") == ["Late goal", "Bridge reopens"])
        }
    }

    @Test func `readers without a session see each change at once, and no other hub's page`() async throws {
        try await PagesHub.run(.public) { hub in
            func page(of name: String) async throws -> String { try await hub.send("GET", "/-/\(name)/").body }
            try await hub.client.setCategories(["World"], publisher: "desk")
            let empty = try await page(of: "news")
            let again = try await page(of: "news")
            #expect(again == empty)
            for title in ["First", "Second"] {
                let body = Array(#"{"title":"\#(title)","category":"World"}"#.utf8)
                _ = try await hub.client.send(body, tags: "World", idempotencyKey: nil)
                for _ in 0..<2 { #expect(try await page(of: "news").contains(title)) }
                #expect(try await !page(of: "town").contains(title))
            }
            let cookie = try await hub.reader(of: "World")
            let own = try await hub.send("GET", "/-/news/", cookie: cookie).body
            #expect(own.contains("data-events"))
            #expect(try await !page(of: "news").contains("data-events"))
        }
    }

    @Test func `an invited reader who has chosen nothing reads the news of all categories`() async throws {
        try await PagesHub.run { hub in
            try await hub.client.setCategories(["World", "username:ann"], publisher: "desk")
            let body = Array(#"{"title":"Before","category":"World"}"#.utf8)
            _ = try await hub.client.send(body, tags: "World", idempotencyKey: nil)
            // As after the invitation, and as after the form without a category.
            for form in [nil, ""] {
                let cookie = try await hub.entered()
                if let form {
                    let chosen = try await hub.send("POST", "/-/news/categories", cookie: cookie, form: form)
                    #expect(chosen.status == 303)
                }
                let page = try await hub.send("GET", "/-/news/", cookie: cookie).body
                #expect(page.contains("Before") && page.contains(#"<p id="empty" class="hint" hidden>"#))
                #expect(!page.contains(" checked") && !page.contains("You read"))
                #expect(page.contains("data-events") && !page.contains("data-chosen"))
            }
            // What a reload would show also comes to open pages, and nothing about persons.
            for id in try await hub.sessions().keys {
                let stored = try #require(try await hub.client.installation(InstallationID(id)))
                let tags = stored.tags.map(\.text)
                #expect(tags.contains("World") && !tags.contains("username:ann"), "\(tags)")
            }
        }
    }

    @Test func `a choice replaces the news of all categories`() async throws {
        try await PagesHub.run { hub in
            for tag in ["World", "Sports"] {
                let body = Array(#"{"title":"From \#(tag)","category":"\#(tag)"}"#.utf8)
                _ = try await hub.client.send(body, tags: tag, idempotencyKey: nil)
            }
            let cookie = try await hub.entered()
            func page() async throws -> String { try await hub.send("GET", "/-/news/", cookie: cookie).body }
            let all = try await page()
            #expect(all.contains("From World") && all.contains("From Sports"))
            _ = try await hub.send("POST", "/-/news/categories", cookie: cookie, form: "category=World")
            let chosen = try await page()
            #expect(chosen.contains("From World") && !chosen.contains("From Sports"))
            #expect(chosen.contains("You read: World") && chosen.contains("data-chosen"))
        }
    }

    @Test func `the page knows whether the hub sends to browsers`() async throws {
        for contact in [nil, "mailto:ops@example.org"] {
            try await PagesHub.run(configure: { $0.pushContact = contact }) { hub in
                let cookie = try await hub.entered()
                let page = try await hub.send("GET", "/-/news/", cookie: cookie).body
                #expect(page.contains(#"data-obstacle="unavailable""#) == (contact == nil))
                let key = try await hub.send("GET", "/-/news/push", cookie: cookie)
                #expect(key.status == (contact == nil ? 404 : 200))
            }
        }
    }

    @Test func `a credential that cannot be used serves no key, and the page names it`() async throws {
        try await PagesHub.run(configure: { $0.pushContact = "mailto:ops@example.org" }) { hub in
            let cookie = try await hub.entered()
            let key = try await hub.send("GET", "/-/news/push", cookie: cookie)
            #expect(key.status == 200)
            let unusable = PlatformCredential(
                .browser,
                ["VapidPublicKey": "x", "VapidPrivateKey": "y", "Subject": "mailto:ops@example.org"]
                    .map { PlatformCredential.Property(name: $0, value: $1) }
            )
            let news = try hub.service.directory.hub(named: "news")
            try await news.perform { transaction, _ in
                var stored = try #require(try transaction.hub(id: news.record.id))
                stored.description.credentials.append(unusable)
                try transaction.update(stored)
                return ((), [PolicyEffect(stored.policy)])
            }
            let refused = try await hub.send("GET", "/-/news/push", cookie: cookie)
            #expect(refused.status == 404)
            let served = try await hub.client.browserKey()
            #expect(served == nil)
            let page = try await hub.send("GET", "/-/news/", cookie: cookie).body
            #expect(page.contains(#"data-obstacle="unusable""#))
        }
    }

    @Test func `every spelling of a page's address leads to the one that the worker controls`() async throws {
        try await PagesHub.run(.public) { hub in
            let spellings = [
                "/-/news": "/-/news/", "/-/NEWS": "/-/news/", "/-/NEWS/": "/-/news/", "/-/n%65ws/?a=b": "/-/news/?a=b",
                "/-/News/feeds?x=%20": "/-/news/feeds?x=%20", "/-/assets": "/-/assets/",
            ]
            for (spelling, address) in spellings {
                for method in ["GET", "HEAD"] {
                    let reply = try await hub.send(method, spelling)
                    #expect(reply.status == 308 && reply.headers["Location"] == address, "\(method) \(spelling)")
                }
            }
            for own in ["/-/news/", "/-/assets/", "/-/sw.js/", "/-/news/feeds"] {
                let reply = try await hub.send("GET", own)
                #expect(reply.status == 200, "\(own): \(reply.status)")
            }
        }
    }

    @Test func `a second view on the same day writes nothing, since the browser keeps its position`() async throws {
        try await PagesHub.run { hub in
            let cookie = try await hub.reader(of: "World")
            func view() async throws -> (position: Substring?, stored: [String]) {
                let reply = try await hub.send("GET", "/-/news/", cookie: cookie)
                #expect(reply.status == 200)
                let stored = try await hub.store.read {
                    try $0.rows("SELECT position, seenAt FROM session") { "\($0)" }
                }
                return (reply.headers["Set-Cookie"]?.prefix { $0 != ";" }.split(separator: "~").last, stored)
            }
            let first = try await view()
            for number in 0..<3 {
                _ = try await hub.client.send(
                    Array(#"{"title":"\#(number)"}"#.utf8),
                    tags: "World",
                    idempotencyKey: nil
                )
                hub.clock.advance(by: .seconds(3_600))
                let next = try await view()
                #expect(next.stored == first.stored && next.position != first.position)
            }
            hub.clock.advance(by: ReaderSession.precision)
            let later = try await view()
            #expect(later.stored != first.stored)
            // A position that nobody gave out shows other marks, and nothing else.
            for forged in ["x-1", "e-99999999999", "-", "a b"] {
                let reply = try await hub.send(
                    "GET",
                    "/-/news/",
                    headers: [("Cookie", "\(cookie.prefix { $0 != "~" })~\(forged)")]
                )
                #expect(reply.status == 200, "\(forged)")
            }
        }
    }

    @Test func `the page marks what came since the last visit`() async throws {
        try await PagesHub.run { hub in
            let cookie = try await hub.reader(of: "World")
            func page() async throws -> String { try await hub.send("GET", "/-/news/", cookie: cookie).body }
            func send(_ title: String, _ tag: String) async throws {
                let body = Array(#"{"title":"\#(title)","category":"\#(tag)"}"#.utf8)
                _ = try await hub.client.send(body, tags: tag, idempotencyKey: nil)
            }
            let empty = try await page()
            #expect(empty.contains(#"<p id="empty" class="hint">There is no news"#))
            try await send("First", "World")
            try await send("Elsewhere", "Sports")
            _ = try await hub.send("HEAD", "/-/news/", cookie: cookie)
            let first = try await page()
            #expect(first.contains("First") && !first.contains("Elsewhere"))
            #expect(first.contains(#"<p id="empty" class="hint" hidden>"#))
            #expect(first.contains(#"class="message new""#))
            let second = try await page()
            #expect(second.contains("First") && !second.contains(#"class="message new""#))
        }
    }

    @Test func `the manifest is valid and leads to files that exist`() async throws {
        struct Manifest: Decodable {
            struct Icon: Decodable { let src, type: String }
            let name, start_url, scope, display: String
            let icons: [Icon]
        }
        try await PagesHub.run { hub in
            let reply = try await hub.send("GET", "/-/news/manifest.webmanifest")
            #expect(reply.headers["Content-Type"] == "application/manifest+json")
            let start =
                ##"{"name":"news","short_name":"news","start_url":"/-/news/","scope":"/-/news/","display":"##
                + ##""standalone","background_color":"#f6f6f3","theme_color":"#a4161a","icons":[{"src":"/"##
            #expect(reply.body.hasPrefix(start) && reply.body.hasSuffix(#""purpose":"any"}]}"#))
            #expect(reply.headers["Cache-Control"] == "no-cache")
            let manifest = try JSONDecoder().decode(Manifest.self, from: Data(reply.body.utf8))
            #expect(manifest.name == "news" && manifest.display == "standalone")
            #expect(manifest.start_url == "/-/news/" && manifest.scope == "/-/news/")
            #expect(manifest.icons.contains { $0.type == "image/png" }, "iPhones show no SVG")
            for icon in manifest.icons {
                let file = try await hub.send("GET", icon.src)
                #expect(file.status == 200 && file.headers["Content-Type"] == icon.type)
            }
        }
    }

    @Test func `files are kept for a year under names with their hashes`() async throws {
        try await PagesHub.run { hub in
            #expect(!WebAsset.all.isEmpty)
            for asset in WebAsset.all {
                let reply = try await hub.send("GET", asset.path)
                // Pictures are no text.
                #expect(reply.status == 200 && reply.body == String(decoding: asset.body, as: UTF8.self))
                #expect(reply.headers["Content-Length"] == "\(asset.body.count)", "\(asset.path)")
                #expect(reply.headers["Cache-Control"] == "public, max-age=31536000, immutable")
                #expect(reply.headers["Content-Type"] == asset.mediaType)
                #expect(reply.headers["X-Content-Type-Options"] == "nosniff")
                let hash = SHA256.hash(data: asset.body).map { String(format: "%02x", $0) }.joined()
                let name = try #require(asset.path.split(separator: "/").last).split(separator: ".")
                #expect(name.count == 3 && hash.hasPrefix(name[1]) && name[1].count >= 8, "\(asset.path)")
                let other = asset.path.replacing(name[1], with: String(repeating: "0", count: name[1].count))
                let missing = try await hub.send("GET", other)
                #expect(missing.status == 404)
            }
        }
    }

    @Test func `an old page's form still chooses a category that nobody announces any more`() async throws {
        try await PagesHub.run { hub in
            try await hub.client.setCategories(["Retired"], publisher: "desk")
            let cookie = try await hub.reader(of: "Retired")
            try await hub.client.setCategories([], publisher: "desk")
            let again = try await hub.send(
                "POST",
                "/-/news/categories",
                cookie: cookie,
                form: "category=retired&category=World"
            )
            #expect(again.status == 303)
            let otherReader = try await hub.reader(of: "World")
            let refused = try await hub.send(
                "POST",
                "/-/news/categories",
                cookie: otherReader,
                form: "category=Retired"
            )
            #expect(refused.status == 400)
            let page = try await hub.send("GET", "/-/news/", cookie: cookie)
            #expect(page.body.contains(#"value="Retired" checked"#))
        }
    }
}
