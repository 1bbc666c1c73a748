import HubProtocol
import HubRouting
import Testing

@testable import HubServer

/// Messages to one person, read from the log.
struct PersonalMessagesTests {
    @Test func `the newest of many messages are kept, also after one for a former owner of the name`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let tag = try Tag("username:bob")
            let maximum = PersonalMessages.maximumMessages
            try await hub.accept("for the former owner", tags: tag.text)
            hub.clock.advance(by: 60)
            let since = Timestamp(hub.clock.now)
            for number in 0..<maximum + 10 { try await hub.accept("\(number)", tags: tag.text) }
            let messages = try await hub.hub.personalMessages.messages(to: tag, since: since, in: hub.hub)
            #expect(messages.count == maximum)
            #expect(messages.first?.sequence == hub.hub.status.head)
        }
    }
}
