import Foundation
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
}
