import Foundation
import Testing

/// Two feeds in two languages, and an agent for each.
@Suite struct LanguageTests {
    private static func rss(_ items: [(title: String, link: String)]) -> String {
        let body = items.map { item in
            "<item><guid>\(item.link)</guid><title>\(item.title)</title><link>\(item.link)</link></item>"
        }
        return "<rss version=\"2.0\"><channel><title>Example</title>\(body.joined())</channel></rss>"
    }

    private struct Row: Decodable {
        let title: String
        let message: String
        let link: String
        let state: String
        let reason: String?
    }

    private func inbox(_ state: String) async throws -> [Row] {
        let outcome = try await BuiltProgram.run(["inbox", "--json", "--state", state])
        return try outcome.output.split(separator: "\n").map { try JSONDecoder().decode(Row.self, from: Data($0.utf8)) }
    }

    /// Bounded by the number of looks: each starts a program.
    private func inbox(_ state: String, rows: Int) async throws -> [Row] {
        for _ in 0..<300 {
            let found = try await inbox(state)
            if found.count >= rows, found.allSatisfy({ $0.state == "done" || $0.state == "empty" }) { return found }
        }
        return try await inbox(state)
    }

    @Test(.timeLimit(.minutes(10)))
    func `each agent sees its own language, also after a restart`() async throws {
        let scratch = try ScratchFolder()
        let hub = try await RunningProgram(
            ["hub", "--port", "0", "--state", scratch.file("hub")],
            folder: scratch.path
        )
        let listen = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/listen.connection")]
        let full = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        let states = [scratch.file("english"), scratch.file("french")]
        func start(_ state: String, _ arguments: [String]) async throws -> RunningProgram {
            let command = ["subscribe", "--state", state] + arguments
            return try await RunningProgram(command, environment: listen, folder: scratch.path)
        }
        let english = try await start(states[0], ["--categories", "World"])
        let french = try await start(states[1], ["--categories", "World", "--language", "French"])

        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: true)
        let list = """
            category: World
            language: English
            templates:
              French: "Flash : $(title)"
            feeds:
              - url: file://\(scratch.file("en.xml"))
                local: true
              - url: file://\(scratch.file("fr.xml"))
                local: true
                language: French
            """
        try scratch.write(list, to: "feeds/world.yaml")
        typealias Items = [(title: String, link: String)]
        func publish(_ english: Items, _ french: Items) async throws {
            try scratch.write(Self.rss(english), to: "en.xml")
            try scratch.write(Self.rss(french), to: "fr.xml")
            let pass = ["publish", "--force", "--feeds", scratch.file("feeds"), "--state", scratch.file("publisher")]
            let outcome = try await BuiltProgram.run(pass, environment: full)
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        try await publish([], [])
        let mayor = (en: ("Mayor resigns", "https://a.example/en/1"), fr: ("Le maire part", "https://a.example/fr/1"))
        try await publish([mayor.en], [mayor.fr])
        let only = (en: ("Only here", "https://a.example/en/2"), fr: ("Seulement ici", "https://a.example/fr/3"))
        try await publish([only.en, mayor.en], [mayor.fr])
        // The service keeps its language without being told.
        #expect(await french.stop() == 0)
        try await publish([only.en, mayor.en], [only.fr, mayor.fr])
        let again = try await start(states[1], [])

        let rows = [try await inbox(states[0], rows: 3), try await inbox(states[1], rows: 3)]
        #expect(
            rows[0].map(\.message) == ["Breaking World News : Mayor resigns", "Breaking World News : Only here", ""]
        )
        #expect(rows[1].map(\.message) == ["Flash : Le maire part", "", "Flash : Seulement ici"])
        #expect(rows[0].map(\.state) == ["done", "done", "empty"])
        #expect(rows[1].map(\.state) == ["done", "empty", "done"])
        #expect(rows[1].map(\.title) == ["Le maire part", "", "Seulement ici"])
        #expect(rows[1].first?.link == "https://a.example/fr/1" && rows[0].first?.link == "https://a.example/en/1")
        #expect(rows.map { $0.compactMap(\.reason) } == [["it has no text"], ["it has no text in French"]])

        let categories = try await BuiltProgram.run(["categories", "--state", states[1]])
        #expect(categories.errors.contains("shows messages in French"))
        let back = try await BuiltProgram.run(["subscribe", "--state", states[1], "--language", ""])
        #expect(back.status == 0 && back.errors.contains("now chosen: World; the running"), "\(back.errors)")
        #expect(await again.stop() == 0)
        #expect(await english.stop() == 0)
        #expect(await hub.stop() == 0)
    }
}
