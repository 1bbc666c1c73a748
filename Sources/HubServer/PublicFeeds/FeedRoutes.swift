import HTTPTypes
import HubProtocol
import HubRouting
import Hummingbird
import NIOCore
import NetworkAddresses
import WebEdge
import WebPages

/// Serves `/-/{hub}/feeds/{tag}.rss`, `.atom` and `.json`: the newest items of a category, for feed readers.
///
/// A client that may not read a feed gets the same response as for an unknown address, after the same time, so that
/// nobody can find out the names of hubs.
struct FeedRoutes: Sendable {
    static let address = "/-/:hub/feeds/:file"
    /// Time in seconds for which readers may cache a feed.
    private static let maximumAge = 60

    private let hubs: HubDirectory
    private let configuration: HubConfiguration
    private let accessPolicy: PageAccessPolicy
    private let client: ClientAddress
    private let connections: ConnectionQuota

    init(_ hubs: HubDirectory, _ configuration: HubConfiguration, _ client: ClientAddress, _ quota: ConnectionQuota) {
        (self.hubs, self.configuration, self.client, connections) = (hubs, configuration, client, quota)
        accessPolicy = PageAccessPolicy(configuration)
    }

    /// True if everybody may read the feeds.
    var arePublic: Bool { accessPolicy.access == .public }

    func add(to router: Router<HubRequestContext>) {
        router.get(RouterPath(Self.address)) { request, context in
            let (hub, file) = (context.parameters.get("hub") ?? "", context.parameters.get("file") ?? "")
            return try await reply(to: request, of: hub, file, on: context.channel, context.manage)
        }
    }

    /// Answers a request for a file of a hub, which comes from a connection.
    ///
    /// `mayRead` is true if the client needs no token. `manage` is set if it has one with Manage.
    ///
    /// - Throws: 404 for a client that may not read the feed, and for one that does not exist.
    func reply(
        to request: Request,
        of name: String,
        _ file: String,
        on channel: (any Channel)?,
        mayRead: Bool = false,
        _ manage: ManageNote?
    ) async throws -> Response {
        // The same text as for an address without a route.
        let nothing = ProtocolError.notFound("There is nothing at this address for \(request.method).")
        let peer = channel?.remoteAddress?.networkAddress
        let hub = try? hubs.hub(named: name)
        // Checking a token takes as long for an unknown hub as for a known one.
        let grant = grant(request, hub?.tokens ?? hubs.namespaceTokens)
        let hasManage = grant?.rights.contains(.manage) == true
        if hasManage { manage?.set() }
        let isProven = grant != nil || mayRead
        guard accessPolicy.admits(request, peer: peer, isProven: isProven), let hub, !hub.status.isDisabled,
            let (tag, type) = Self.file(file)
        else { throw nothing }
        if isProven, let channel { connections.prove(channel) }
        guard let page = try await hub.publicFeeds.page(of: tag, as: type, in: hub) else { throw nothing }
        let authority = client.authority(request.head, peer: peer, local: channel?.localAddress?.networkAddress)
        // A page of another origin could read from a shared cache what was answered to a key with Manage.
        let isShared = arePublic && !hasManage
        return response(page, type, request, origin: "https://\(authority)", isShared: isShared)
    }

    /// The grant of a token with Listen, in a header or in the query; `nil` if there is none.
    private func grant(_ request: Request, _ tokens: TokenChecker) -> Grant? {
        let header = request.headers[.authorization] ?? request.uri.query.map { "SharedAccessSignature \($0)" }
        return try? tokens.authorize(
            header,
            // Clients sign for the hub.
            path: String(request.uri.path.dropFirst("/-".count)),
            needs: .listen,
            now: configuration.timestamp
        )
    }

    /// The tag and the format in a file's name.
    private static func file(_ name: String) -> (Tag, FeedFileType)? {
        guard let dot = name.lastIndex(of: "."),
            let type = FeedFileType(rawValue: name[name.index(after: dot)...].lowercased()),
            let tag = PercentEncoding.decode(name[..<dot]).flatMap({ try? Tag($0) })
        else { return nil }
        return (tag, type)
    }

    private func response(
        _ page: TagFeeds.Page,
        _ type: FeedFileType,
        _ request: Request,
        origin: String,
        isShared: Bool
    ) -> Response {
        let validators = Validators(page, origin: origin, now: configuration.timestamp)
        var headers: HTTPFields = [
            .eTag: validators.etag,
            .cacheControl: "\(isShared ? "public" : "private"), max-age=\(Self.maximumAge)",
        ]
        headers[.lastModified] = validators.lastModified
        guard !validators.match(request.headers) else {
            var response = Response(status: .notModified, headers: headers)
            // Clients would take it for the length of the feed (RFC 9110 §8.6).
            response.headers[.contentLength] = nil
            return response
        }
        headers[.contentType] = type.mediaType
        headers[.xContentTypeOptions] = "nosniff"
        // The address may contain a secret, and a browser that shows the file follows its links.
        headers[.referrerPolicy] = "no-referrer"
        // A browser that shows the file must not load or run anything for it.
        headers[.contentSecurityPolicy] = "default-src 'none'; frame-ancestors 'none'"
        if let webSubHub = configuration.webSubHub {
            headers[.link] = "<\(origin)\(page.place.feed(type))>; rel=\"self\", <\(webSubHub)>; rel=\"hub\""
        }
        let text = page.feed.text(origin: origin)
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}

extension HTTPField.Name {
    // The names are constants and valid tokens.
    fileprivate static let link = HTTPField.Name("Link") ?? .location
    fileprivate static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .location
}
