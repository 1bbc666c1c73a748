import FoundationEssentials
import HubProtocol
import HubTestServer
import OutboundHTTP
import Testing

@testable import HubClient

@Suite struct NamespaceClientTests {
    private static let root = AccessRule(
        name: "Root",
        primaryKey: "k",
        secondaryKey: "l",
        rights: [.listen, .manage, .send]
    )

    private func client(
        _ answer: @escaping @Sendable (RecordedRequest) -> ScriptedReply
    ) throws -> (NamespaceClient, ScriptedHTTPServer) {
        let server = try ScriptedHTTPServer(answer)
        let connection = try ConnectionString(endpoint: server.baseURL, keyName: "Root", key: Self.root.primaryKey)
        let http = OutboundClient(userAgent: "newswire-test/1")
        return (try NamespaceClient(connection: connection, http: http), server)
    }

    private static let start = Timestamp(milliseconds: 0)

    private static func entry(_ name: String) -> ManagementEntry {
        let rule = AuthorizationRule(root, createdAt: start, modifiedAt: start)
        let description = NotificationHubDescription(
            registrationTimeToLive: RegistrationTimeToLive(.seconds(86_400)),
            rules: [rule],
            isDisabled: name == "h1"
        )
        return description.entry(
            of: (try? HubName(name)) ?? hub,
            root: "https://h",
            query: "",
            namespace: "h",
            createdAt: start,
            updatedAt: start
        )
    }

    private static let hub = { do { return try HubName("x") } catch { fatalError("\(error)") } }()

    @Test func `hubs are listed page by page, with a token for the whole namespace`() async throws {
        let (client, server) = try client { request in
            let skip = request.query.contains("$skip=0") ? 0 : 20
            let page = (0..<25).map { "h\($0)" }.dropFirst(skip).prefix(20)
            let feed = ManagementFeed(title: "t", address: "a", updatedAt: Self.start, entries: page.map(Self.entry))
            return .status(200, body: feed.xml)
        }
        let hubs = try await client.hubs()
        #expect(hubs.map(\.name.text) == (0..<25).map { "h\($0)" })
        #expect(hubs[0].registrationTimeToLive.text == "P1D" && !hubs[0].isDisabled)
        #expect(hubs[0].rules == [Self.root])
        #expect(hubs[1].isDisabled)
        let requests = server.requests
        #expect(requests.map(\.path) == Array(repeating: "/$Resources/NotificationHubs", count: 2))
        let token = try SharedAccessToken(parsing: try #require(requests[0].header("Authorization")))
        #expect(token.isSigned(with: "k") && token.covers(path: "/anything"))
    }

    @Test func `a hub is made with its time to live, and read with its rules`() async throws {
        let endpoint = "sb://hub.example.org:8787/"
        let (client, server) = try client { _ in
            .status(201, headers: [("Newswire-Public-Endpoint", endpoint)], body: Self.entry("orders").xml)
        }
        let name = try HubName("orders")
        let timeToLive = RegistrationTimeToLive(.seconds(90 * 86_400))
        let created = try await client.create(name, registrationTimeToLive: timeToLive)
        #expect(created.publicEndpoint == endpoint)
        let made = created.summary
        #expect(made.name == name && made.rules.map(\.name) == ["Root"])
        let request = try #require(server.requests.first)
        #expect(request.method == "PUT" && request.path == "/orders")
        #expect(request.header("If-Match") == nil, "this would update one that is there")
        #expect(request.text.contains("<RegistrationTtl>P90D</RegistrationTtl>"))
        #expect(!request.text.contains("AuthorizationRules"))
    }

    @Test func `refusals and absences are distinguished`() async throws {
        let (client, server) = try client { request in
            switch request.method {
            case "PUT": ScriptedHub.refusal(409, "SubCode=40900. Conflict. It exists.")
            case "DELETE": ScriptedHub.refusal(request.path == "/gone" ? 404 : 401, "no")
            default: .status(200, body: "<html>")
            }
        }
        let (name, gone) = (try HubName("a"), try HubName("gone"))
        let conflict = await #expect(throws: HubError.self) { try await client.create(name) }
        #expect(
            conflict
                == .refused(status: 409, code: 40900, detail: "SubCode=40900. Conflict. It exists.", retryAfter: nil)
        )
        #expect(try await client.delete(gone) == false)
        await #expect(throws: HubError.self) { try await client.delete(name) }
        #expect(server.requests.count == 3)
        let malformed = await #expect(throws: HubError.self) { try await client.hubs() }
        guard case .malformedReply = malformed else {
            Issue.record("\(String(describing: malformed))")
            return
        }
    }
}
