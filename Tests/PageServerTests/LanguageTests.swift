import GRDB
import HubClient
import HubProtocol
import OutboundHTTP
import SQLiteFiles
import Testing
import WebPages

@testable import PageServer

/// The language that a reader chooses.
struct LanguageTests {
    /// Reports a publisher whose category World is in two languages, and Sports in one.
    private func announce(_ hub: PagesHub) async throws {
        let feeds = [("World", "English"), ("World", "French"), ("Sports", "English")].map { category, language in
            var feed = PublisherReport.Feed(category: category, url: "https://a.example/\(language)", state: "well")
            feed.language = language
            return feed
        }
        let report = PublisherReport(
            schedule: .pass,
            lastPass: hub.clock.now.wholeSecond,
            exitCode: 0,
            outbox: 0,
            feeds: feeds
        )
        try await hub.client.report(report, publisher: "desk", timeout: .seconds(600))
        try await hub.client.setCategories(["World", "Sports"], publisher: "desk")
    }

    private func send(_ hub: PagesHub, _ body: String) async throws {
        _ = try await hub.client.send(Array(body.utf8), tags: "World", idempotencyKey: nil)
    }

    @Test func `a hub without lists in languages offers none`() async throws {
        try await PagesHub.run(.public) { hub in
            let page = try await hub.send("GET", "/-/news/")
            #expect(page.status == 200 && !page.body.contains(#"name="language""#))
            let refused = try await hub.send("POST", "/-/news/categories", form: "category=World&language=French")
            #expect(refused.status == 400)
            let none = try await hub.send("POST", "/-/news/categories", form: "category=World&language=")
            #expect(none.status == 303)
        }
    }

    @Test func `a reader gets what is said in the chosen language`() async throws {
        try await PagesHub.run { hub in
            try await announce(hub)
            let cookie = try await hub.reader(of: "World")
            func choose(_ language: String) async throws -> Int {
                let form = "category=World&language=\(language)"
                return try await hub.send("POST", "/-/news/categories", cookie: cookie, form: form).status
            }
            func page() async throws -> String { try await hub.send("GET", "/-/news/", cookie: cookie).body }
            try await send(hub, #"{"title":"Fire","News_French":"Feu dans le port","Title_French":"Feu"}"#)
            try await send(hub, #"{"title":"Rain"}"#)
            let usual = try await page()
            #expect(usual.contains("Fire") && usual.contains("Rain") && !usual.contains("Feu"))
            #expect(usual.contains(#"<option value="French" lang="fr">français</option>"#))
            #expect(try await choose("french") == 303)
            let french = try await page()
            #expect(french.contains(#"<h3 lang="fr"><span dir="auto">Feu</span></h3>"#))
            #expect(french.contains("Feu dans le port") && !french.contains("Rain"))
            #expect(french.contains(#"<option value="French" lang="fr" selected>"#))
            let id = try #require(try await hub.sessions().keys.first)
            let installation = try #require(try await hub.client.installation(try InstallationID(id)))
            let language = try LanguageName("French")
            #expect(installation.templates[AgentTemplate.name]?.body == AgentTemplate.pageBody(in: language))
            // Of a browser that subscribes, and after another choice of categories.
            let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
            let subscription =
                #"{"endpoint":"https://push.example/1","keys":{"p256dh":"\#(key)","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}"#
            let put = try await hub.send("PUT", "/-/news/push", cookie: cookie, form: subscription)
            #expect(put.status == 204)
            #expect(try await choose("French") == 303)
            let name = try await hub.store.read {
                try String.fetchOne($0.database, sql: "SELECT browser FROM session WHERE browser <> ''")
            }
            let browser = try await hub.client.installation(try InstallationID(try #require(name)))
            #expect(browser?.templates[BrowserTemplate.name]?.body == BrowserTemplate.body(in: language))
            #expect(try await choose("Klingon") == 400)
            #expect(try await page().contains("Feu dans le port"))
            #expect(try await choose("") == 303)
            let again = try await page()
            #expect(again.contains("Rain") && !again.contains("data-language"))
        }
    }

    @Test func `pages are in the browser's language, and so are refusals and scripts`() async throws {
        try await PagesHub.run(.public) { hub in
            try await hub.client.setCategories(["World"], publisher: "desk")
            let german = [("Accept-Language", "de-AT,en;q=0.5")]
            let page = try await hub.send("GET", "/-/news/", headers: german)
            #expect(page.body.contains("<html lang=\"de\" dir=\"ltr\">") && page.body.contains(">Abonnieren</button>"))
            #expect(page.headers["Vary"] == "Accept-Language")
            // Each is kept on its own.
            for _ in 0..<2 {
                let english = try await hub.send("GET", "/-/news/")
                #expect(english.body.contains("<html lang=\"en\"") && english.body.contains(">Subscribe</button>"))
                #expect(try await hub.send("GET", "/-/news/", headers: german).body == page.body)
            }
            let script = try #require(page.body.firstMatch(of: /\/-\/assets\/reader\.[^"]+/)).0
            #expect(try await hub.send("GET", String(script)).body.contains("Verbindung wird wiederhergestellt"))
            let missing = try await hub.send("GET", "/-/other/", headers: german)
            #expect(missing.status == 404 && missing.body.contains("Nicht gefunden"))
            let refused = try await hub.send("POST", "/-/news/categories", headers: german, form: "category=World")
            #expect(refused.status == 403 && refused.body.contains("kam von einer anderen Website"))
            let worker = try await hub.send("GET", "/-/sw.js?language=de")
            #expect(worker.body.contains("Der Server ist nicht erreichbar"))
            for query in ["", "?language=xx", "?language=../en"] {
                #expect(try await hub.send("GET", "/-/sw.js\(query)").body.contains("The server is not reachable"))
            }
        }
    }
}
