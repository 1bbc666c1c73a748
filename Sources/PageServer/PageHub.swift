import AppBackend
import HTTPTypes
import HubClient
import HubProtocol
import HubServer
import Hummingbird
import MountedBackend
import NIOCore
import WebEdge

/// A hub of this process, with the operations that pages need.
struct PageHub: Sendable {
    let name: HubName
    private let service: HubService
    private let calls: InternalCalls
    let client: HubClient

    /// Finds a hub; `nil` if it is unknown or disabled.
    init?(_ name: HubName, of service: HubService, _ clients: InternalClients) {
        // Cookies and sessions depend on the hub's name.
        guard let name = service.served(name) else { return nil }
        self.name = name
        self.service = service
        calls = clients.calls
        client = clients.client(of: name)
    }

    /// The categories that publishers have announced, sorted.
    func categories() async throws -> [String] { try await client.categories() ?? [] }

    func news(of choice: ReaderChoice, since position: StreamPosition?) async throws -> HubNews {
        try await service.news(of: choice.categories, language: choice.language, in: name, since: position)
    }

    /// The languages of categories by folded name, from feed lists that name them.
    func languages() async throws -> [String: [LanguageName]] { try await service.languages(in: name) }

    /// The newest messages to a user by name.
    func messages(to user: UserName, since: Timestamp) async throws -> [PersonalMessage] {
        try await service.messages(to: AppBackend.tag(of: user), since: since, in: name)
    }

    func put(_ installation: Installation, channel: PushChannelSecret?) async throws {
        try await client.put(installation, channel: channel)
    }

    func delete(_ id: InstallationID, channel: PushChannelSecret?) async throws {
        try await client.delete(id, channel: channel)
    }

    /// Installations whose ids have a prefix, after a given id.
    func installations(
        _ prefix: String,
        after id: String?,
        limit: Int
    ) async throws -> (found: [Installation], next: String?) {
        try await service.installations(in: name, prefix: prefix, after: id, limit: limit)
    }

    /// The state of the hub's delivery to browsers.
    var browserDelivery: BrowserDelivery { service.browserDelivery(name) }

    /// The public key for browsers' subscriptions; `nil` if the hub does not deliver to browsers.
    func browserKey() async throws -> String? {
        guard browserDelivery == .ready else { return nil }
        return try await client.browserKey()?.publicKey
    }

    /// Passes a request on to the hub's own routes; `isProven` is true if the client may read feeds.
    func passOn(_ request: PageRequest, isProven: Bool) async throws -> Response {
        try await calls.open(request.request.head, for: request.context.client.channel, mayReadFeeds: isProven)
    }

    /// Opens the stream of server-sent events of an installation.
    ///
    /// - Returns: The hub's response, including refusals.
    func events(
        of id: InstallationID,
        channel: PushChannelSecret,
        after position: String?,
        for request: PageRequest
    ) async throws -> Response {
        // A stream ends with its token: with one token for all, they would end in the same second.
        let ownToken = InternalClients.makeClient(of: name, calls)
        var head = try InternalTransport.head(
            of: ownToken.eventRequest(installation: id, channel: channel, after: position, heartbeatEvents: true)
        )
        // For logs and limits by address: the reader's address, not a proxy's.
        for name in ["Forwarded", "X-Forwarded-For"] {
            head.headerFields[named: name] = request.request.headers[named: name]
        }
        return try await calls.openStream(head, for: request.context.client.channel)
    }
}
