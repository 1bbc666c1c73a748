import FoundationEssentials
import HubProtocol
import HubTestServer
import Testing

@testable import HubClient

@Suite struct HubClientRegistrationTests {
    private static func page(_ ids: [String]) throws -> String {
        let feed = RegistrationFeed(
            registrations: try ids.map {
                Registration(id: try RegistrationID($0), platform: .apns, pushChannel: .handle("AA"))
            },
            address: RequestAddress(origin: "https://x", path: "/", query: ""),
            next: nil
        )
        return String(decoding: feed.encoded(date: Date()), as: UTF8.self)
    }

    @Test func `pages are asked for by the token as it came, escaped or not`() async throws {
        let first = try Self.page(["1-1-1"])
        let hub = try ScriptedHub { request in
            request.query.contains("continuationtoken")
                ? .status(200, body: first)
                : .status(200, headers: [("x-ms-continuationtoken", "MzEobik7Mg%3D%3D")], body: first)
        }
        let page = try await hub.client.registrations(.all)
        #expect(page.answer.registrations.map(\.id.text) == ["1-1-1"] && page.next == "MzEobik7Mg%3D%3D")
        #expect(try await hub.client.registrations(.all, from: page.next).next == nil)
        #expect(
            hub.server.requests.map(\.query) == [
                "api-version=2020-06", "api-version=2020-06&continuationtoken=MzEobik7Mg%3D%3D",
            ]
        )
    }

    @Test func `tags and handles are escaped`() async throws {
        let empty = try Self.page([])
        let hub = try ScriptedHub { _ in .status(200, body: empty) }
        _ = try await hub.client.registrations(.tag(Tag("a#b")))
        _ = try await hub.client.registrations(.handle("it's+1"))
        #expect(hub.server.requests.first?.path == "/news/tags/a%23b/registrations")
        #expect(
            hub.server.requests.last?.query
                == "api-version=2020-06&$filter=ChannelUri%20eq%20%27it%27%27s%2B1%27"
        )
    }

    @Test(arguments: ["a b", "a&b", "same"])
    func `a list that leads nowhere ends`(token: String) async throws {
        let empty = try Self.page([])
        let hub = try ScriptedHub { _ in .status(200, headers: [("X-MS-ContinuationToken", token)], body: empty) }
        await #expect(throws: HubClientError.malformedReply("the list's continuation token leads nowhere")) {
            try await hub.client.registrations(.all, from: "same")
        }
    }

    @Test func `one registration is read, or is not there`() async throws {
        let entry = String(
            decoding: Registration(
                id: try RegistrationID("1-2-3"),
                etag: 4,
                platform: .apns,
                pushChannel: .handle("AA")
            )
            .entry(at: "https://x", date: Date()),
            as: UTF8.self
        )
        let hub = try ScriptedHub { request in
            switch request.path {
            case "/news/registrations/1-2-3": .status(200, body: entry)
            case "/news/registrations/1-2-4": .status(200, body: "<html/>")
            default: ScriptedHub.refusal(404, "Registration not found")
            }
        }
        #expect(try await hub.client.registration(RegistrationID("1-2-3"))?.registrations.first?.etag == 4)
        #expect(try await hub.client.registration(RegistrationID("9-9-9")) == nil)
        await #expect(throws: HubClientError.self) { try await hub.client.registration(RegistrationID("1-2-4")) }
    }
}
