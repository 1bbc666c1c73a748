import Foundation
import HubTestServer
import Synchronization
import Testing

/// Breaking news by hand: a message for each category, in its own words.
@Suite struct CategorySendTests {
    private struct Row: Decodable {
        let title: String
        let message: String
        let category: String
        let state: String
    }

    /// Bounded by the number of looks: each starts a program.
    private func inbox(_ state: String, rows: Int) async throws -> [Row] {
        for look in 0... {
            let outcome = try await BuiltProgram.run(["inbox", "--json", "--state", state])
            let found = try outcome.output.split(separator: "\n").map {
                try JSONDecoder().decode(Row.self, from: Data($0.utf8))
            }
            if found.count >= rows || look == 300 { return found }
        }
        return []
    }

    @Test(.timeLimit(.minutes(10)))
    func `each category gets its own text, and all of them with one word`() async throws {
        let scratch = try ScratchFolder()
        let hub = try await RunningProgram(
            ["hub", "--port", "0", "--state", scratch.file("hub")],
            folder: scratch.path
        )
        let full = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        let listen = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/listen.connection")]
        let names = ["World", "Sports,Science"]
        var agents: [RunningProgram] = []
        for (number, categories) in names.enumerated() {
            let command = ["subscribe", "--state", scratch.file("agent\(number)"), "--categories", categories]
            agents.append(try await RunningProgram(command, environment: listen, folder: scratch.path))
        }
        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: true)
        let list = """
            category: Sports
            template: "Whistle! $(title)"
            feeds:
              - url: https://example.org/sports.rss
            """
        try scratch.write(list, to: "feeds/sports.yaml")
        func send(_ category: String, _ more: String...) async throws -> BuiltProgram.Outcome {
            let command =
                ["send", "--category", category, "--feeds", scratch.file("feeds"), "--message", "Goal"] + more
            return try await BuiltProgram.run(command, environment: full)
        }

        let two = try await send("world, Sports")
        #expect(two.status == 0, "\(two.errors)")
        let lines = two.output.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(lines.map(\.first) == ["sent", "sent"] && lines.map(\.last) == ["World", "Sports"], "\(two.output)")
        #expect(Set(lines.map { $0[1] }).count == 2, "each is a message of its own")

        let unknown = try await send("Wrold")
        #expect(unknown.status == 64 && unknown.errors.contains("did you mean 'World'"), "\(unknown.errors)")
        #expect(unknown.output.isEmpty)

        let all = try await send("all", "--json", "--property", "link=https://example.org/")
        struct Sent: Decodable {
            let category: String
            let id: String
        }
        let sent = try all.output.split(separator: "\n").map {
            try JSONDecoder().decode(Sent.self, from: Data($0.utf8))
        }
        #expect(sent.map(\.category) == ["World", "Politics", "Business", "Technology", "Science", "Sports"])
        #expect(Set(sent.map(\.id)).count == 6)

        let world = try await inbox(scratch.file("agent0"), rows: 2)
        #expect(world.map(\.message) == ["Breaking World News : Goal", "Breaking World News : Goal"])
        #expect(world.map(\.category) == ["World", "World"] && world.map(\.title) == ["Goal", "Goal"])
        let others = try await inbox(scratch.file("agent1"), rows: 3)
        #expect(others.map(\.message) == ["Whistle! Goal", "Breaking Science News : Goal", "Whistle! Goal"])
        for agent in agents { #expect(await agent.stop() == 0) }

        #expect(await hub.stop() == 0)
        let away = try await send("World,Sports")
        #expect(away.status == 69 && away.output.isEmpty, "\(away.errors)")
    }

    @Test(.timeLimit(.minutes(10)), arguments: [true, false])
    func `a category whose send has no answer is unknown, and a repeat sends nothing twice`(isOurs: Bool) async throws {
        let isDown = Flag()
        let hub = try ScriptedHTTPServer { request in
            switch request.path {
            case "/news/categories" where isOurs:
                return .status(200, body: #"{"categories":["World","Sports","Science"]}"#)
            case "/news/messages/":
                let isSports = request.header("ServiceBusNotification-Tags") == "Sports"
                return isSports && isDown.isSet ? .hangUp : .status(201)
            default: return .status(404)
            }
        }
        let scratch = try ScratchFolder()
        let string = "Endpoint=\(hub.baseURL)/;SharedAccessKeyName=Full;SharedAccessKey=a2V5"
        try scratch.write(string, to: "hub.connection")
        let path = scratch.file("hub.connection")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        func send(_ more: String...) async throws -> BuiltProgram.Outcome {
            try await BuiltProgram.run(
                ["send", "--message", "Goal", "--feeds", scratch.file("feeds"), "--category"] + more,
                environment: ["NEWSWIRE_CONNECTION_FILE": path]
            )
        }
        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: true)
        try scratch.write(
            "category: Sports\nfeeds:\n  - url: https://example.org/sports.rss\n",
            to: "feeds/sports.yaml"
        )

        isDown.set()
        let cut = try await send("World,Sports,Science")
        #expect(cut.status == 69, "\(cut.errors)")
        #expect(cut.output.split(separator: "\n").count == 1, "\(cut.output)")
        #expect(
            cut.errors.contains("it is unknown whether the message for Sports was sent; not sent for Science"),
            "\(cut.errors)"
        )
        guard isOurs else {
            // Another hub would send the message of a repeat once more.
            #expect(cut.errors.contains("for the rest, repeat the command with --category 'Science'"), "\(cut.errors)")
            return
        }
        let hint = try #require(cut.errors.firstMatch(of: /--category '([A-Za-z,]+)' --idempotency-key ([0-9a-f]+):/))
        #expect(hint.output.1 == "Sports,Science")
        isDown.clear()
        let repeated = try await send(String(hint.output.1), "--idempotency-key", String(hint.output.2))
        #expect(repeated.status == 0, "\(repeated.errors)")
        let sends = hub.requests.filter { $0.path == "/news/messages/" }
        func keys(_ category: String) -> [String] {
            sends.filter { $0.header("ServiceBusNotification-Tags") == category }
                .compactMap { $0.header("Idempotency-Key") }
        }
        #expect(keys("World").count == 1 && keys("Science").count == 1)
        // The client itself may send it once more on a new connection.
        #expect(keys("Sports").count >= 2 && Set(keys("Sports")).count == 1)
        #expect(Set(["World", "Sports", "Science"].flatMap(keys)).count == 3)
    }
}

/// A Boolean that a test and a server share.
private final class Flag: Sendable {
    private let value = Mutex(false)

    var isSet: Bool { value.withLock { $0 } }

    func set() { value.withLock { $0 = true } }
    func clear() { value.withLock { $0 = false } }
}
