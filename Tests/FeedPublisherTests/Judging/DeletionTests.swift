import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Notices of deleted entries (RFC 6721), through real passes.
@Suite struct DeletionTests {
    private struct Desk {
        let room: Newsroom
        let lists: FeedLists

        init() async throws {
            room = try Newsroom()
            lists = try room.lists(["World": ["/a", "/b"]])
            for path in ["/a", "/b"] { try await bring("", to: path) }
        }

        func bring(_ entries: String, to path: String = "/a") async throws {
            let body = """
                <feed xmlns="http://www.w3.org/2005/Atom" xmlns:at="http://purl.org/atompub/tombstones/1.0">
                <title>Example \(path)</title><id>urn:feed\(path)</id>\(entries)</feed>
                """
            room.site.set(path, FakeSite.Document(body: body))
            room.advance(60)
            try await room.pass(lists)
        }

        func sent() throws -> [String] {
            try room.hub.messages.map { message in
                let found = try MessageProperties(json: message.body)
                return "\(found["title"] ?? "") [\(found["status"] ?? "")]"
            }
        }
    }

    private func entry(_ id: String, _ title: String) -> String {
        "<entry><id>\(id)</id><title>\(title)</title><updated>2026-05-28T20:00:00Z</updated></entry>"
    }

    private func deleted(_ id: String) -> String { "<at:deleted-entry ref='\(id)' when='2026-05-28T21:00:00Z'/>" }

    @Test func `a deleted entry withdraws the story that its feed announced, once`() async throws {
        let desk = try await Desk()
        try await desk.bring(entry("urn:1", "Mayor arrested in the old town"))
        for _ in 1...3 { try await desk.bring(deleted("urn:1")) }
        #expect(
            try desk.sent() == [
                "Mayor arrested in the old town []", "Withdrawn: Mayor arrested in the old town [withdrawn]",
            ]
        )
        let messages = try desk.room.hub.messages.map { try MessageProperties(json: $0.body) }
        #expect(messages[1]["replaces"] == messages[0]["story"])
        try await desk.bring(entry("urn:1", "Mayor arrested in the old town"))
        #expect(try desk.sent().count == 2, "it does not come back")
    }

    @Test func `a notice withdraws neither another feed's story nor one that was not announced`() async throws {
        let desk = try await Desk()
        try await desk.bring(entry("urn:1", "Mayor arrested in the old town"))
        try await desk.bring(deleted("urn:1") + deleted("urn:2"), to: "/b")
        #expect(try desk.sent().count == 1)
        try await desk.bring(entry("urn:1", "Mayor arrested in the old town") + deleted("urn:1"))
        #expect(try desk.sent().count == 1, "the entry is in the document")
    }
}
