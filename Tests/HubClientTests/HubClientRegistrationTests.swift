import FoundationEssentials
import HubProtocol
import HubTestServer
import Testing

@testable import HubClient

@Suite struct HubClientRegistrationTests {
    private static func page(_ ids: [String]) throws -> String {
        let address = RequestAddress(origin: "https://x", path: "/", query: "")
        let feed = RegistrationFeed(
            registrations: try ids.map {
                Registration(id: try RegistrationID($0), platform: .apns, pushChannel: .handle("AA"))
            },
            address: address,
            items: address,
            next: nil
        )
        return String(decoding: feed.encoded(date: Date()), as: UTF8.self)
    }

    private static func ids(_ choice: RegistrationChoice, of hub: ScriptedHub, limit: Int = .max) async throws
        -> [String]
    {
        var ids: [String] = []
        try await hub.client.forEachPage(of: choice, limit: limit) { answer in
            ids += answer.registrations.map(\.id.text)
        }
        return ids
    }

    @Test(arguments: ["MzEobik7Mg%3D%3D", "a+b/c=", "MzE_-"])
    func `pages are asked for by the token as it came`(token: String) async throws {
        let (first, last) = (try Self.page(["1-1-1", "1-1-2"]), try Self.page(["1-1-3"]))
        let hub = try ScriptedHub { request in
            request.query.contains("continuationtoken")
                ? .status(200, body: last) : .status(200, headers: [("x-ms-continuationtoken", token)], body: first)
        }
        #expect(try await Self.ids(.all, of: hub) == ["1-1-1", "1-1-2", "1-1-3"])
        #expect(
            hub.server.requests.map(\.query) == [
                "api-version=2020-06&$top=100", "api-version=2020-06&$top=100&continuationtoken=\(token)",
            ]
        )
        #expect(try await Self.ids(.all, of: hub, limit: 2) == ["1-1-1", "1-1-2"])
        #expect(hub.server.requests.count == 3 && hub.server.requests.last?.query == "api-version=2020-06&$top=2")
    }

    @Test func `tags and handles are escaped`() async throws {
        let empty = try Self.page([])
        let hub = try ScriptedHub { _ in .status(200, body: empty) }
        for tag in ["a#b", ".."] { #expect(try await Self.ids(.tag(Tag(tag)), of: hub).isEmpty) }
        #expect(try await Self.ids(.handle("it's+1"), of: hub).isEmpty)
        #expect(
            hub.server.requests.map(\.path) == [
                "/news/tags/a%23b/registrations", "/news/tags/%2E%2E/registrations", "/news/registrations",
            ]
        )
        #expect(
            hub.server.requests.last?.query
                == "api-version=2020-06&$filter=ChannelUri%20eq%20%27it%27%27s%2B1%27&$top=100"
        )
    }

    @Test func `a list that leads back to where it was ends`() async throws {
        let page = try Self.page(["1-1-1"])
        let hub = try ScriptedHub { request in
            let next = request.query.hasSuffix("=a") ? "b" : "a"
            return .status(200, headers: [("X-MS-ContinuationToken", next)], body: page)
        }
        await #expect(throws: HubError.malformedReply("the list of registrations does not end")) {
            try await Self.ids(.all, of: hub)
        }
        #expect(hub.server.requests.count == 3)
    }

    @Test func `a list of empty pages ends`() async throws {
        let page = try Self.page([])
        let hub = try ScriptedHub { request in
            .status(200, headers: [("X-MS-ContinuationToken", "\(request.query.hashValue.magnitude)")], body: page)
        }
        await #expect(throws: HubError.malformedReply("the list of registrations does not end")) {
            try await Self.ids(.all, of: hub, limit: 1)
        }
    }

    @Test(arguments: ["a b", "a&b"])
    func `a token that would change the query is not sent`(token: String) async throws {
        let page = try Self.page([])
        let hub = try ScriptedHub { _ in .status(200, headers: [("X-MS-ContinuationToken", token)], body: page) }
        await #expect(throws: HubError.self) { try await Self.ids(.all, of: hub) }
        #expect(hub.server.requests.count == 1)
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
            case "/news/registrations/1-2-5": .status(200, body: #"<feed xmlns="http://www.w3.org/2005/Atom"/>"#)
            default: ScriptedHub.refusal(404, "Registration not found")
            }
        }
        #expect(try await hub.client.registration(RegistrationID("1-2-3")).etag == 4)
        for (id, reason) in [
            ("9-9-9", "the hub refused with 404: Registration not found"),
            ("1-2-4", "neither an Atom entry nor a feed"),
            ("1-2-5", "it is an empty list"),
        ] {
            let error = await #expect(throws: HubError.self) {
                try await hub.client.registration(RegistrationID(id))
            }
            #expect(error.map { "\($0)".contains(reason) } == true, "\(String(describing: error))")
        }
    }
}
