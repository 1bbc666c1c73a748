import HTTPTypes
import HubProtocol
import HubRouting
import Hummingbird
import NIOCore
import NetworkAddresses
import WebPages

/// `/-/{hub}/feeds/{tag}.rss`, `.atom` and `.json`: the newest news of a category, for feed readers.
///
/// Whoever may not read them is answered as if nothing were there, in the same time, so that nobody learns which hubs
/// there are.
struct FeedRoutes: Sendable {
    /// Seconds for which a reader need not ask again.
    private static let maximumAge = 60

    private let hubs: HubDirectory
    private let configuration: HubConfiguration
    private let door: PageDoor
    private let client: ClientAddress
    private let connections: ConnectionQuota

    init(_ hubs: HubDirectory, _ configuration: HubConfiguration, _ client: ClientAddress, _ quota: ConnectionQuota) {
        (self.hubs, self.configuration, self.client, connections) = (hubs, configuration, client, quota)
        door = PageDoor(configuration)
    }

    func add(to router: Router<HubRequestContext>) {
        for method in [HTTPRequest.Method.get, .head] {
            router.on("/-/:hub/feeds/:file", method: method) { request, context in
                try await reply(to: request, context)
            }
        }
    }

    private func reply(to request: Request, _ context: HubRequestContext) async throws -> Response {
        // The same words as for an address without a route.
        let nothing = ProtocolError.notFound("There is nothing at this address for \(request.method).")
        let peer = context.peer
        let hub = try? hubs.hub(named: context.parameters.get("hub") ?? "")
        // A hub that is not there takes a token as long to check as one that is.
        let isProven = proves(request, hub?.tokens ?? hubs.namespaceTokens)
        guard door.admits(request, peer: peer, isProven: isProven), let hub, !hub.status.isDisabled,
            let (tag, type) = Self.file(context.parameters.get("file") ?? "")
        else { throw nothing }
        if isProven, let channel = context.channel { connections.prove(channel) }
        guard let page = try await hub.publicFeeds.page(of: tag, as: type, in: hub) else { throw nothing }
        return response(page, type, request, origin: "https://\(client.authority(request.head, peer: peer))")
    }

    /// True if the request brings a token with Listen, in a header or in its query.
    private func proves(_ request: Request, _ tokens: TokenChecker) -> Bool {
        let header = request.headers[.authorization] ?? request.uri.query.map { "SharedAccessSignature \($0)" }
        let grant = try? tokens.authorize(
            header,
            // Clients sign for the hub.
            path: String(request.uri.path.dropFirst("/-".count)),
            needs: .listen,
            now: configuration.timestamp
        )
        return grant != nil
    }

    /// The tag and the format that a file's name tells.
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
        origin: String
    ) -> Response {
        let validators = Validators(page, origin: origin, now: configuration.timestamp)
        var headers: HTTPFields = [
            .eTag: validators.etag,
            .cacheControl: "\(door.access == .public ? "public" : "private"), max-age=\(Self.maximumAge)",
        ]
        headers[.lastModified] = validators.lastModified
        guard !validators.match(request.headers) else {
            var response = Response(status: .notModified, headers: headers)
            // It would be taken for the length of the feed (RFC 9110 §8.6).
            response.headers[.contentLength] = nil
            return response
        }
        headers[.contentType] = type.mediaType
        headers[.xContentTypeOptions] = "nosniff"
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
    // The name is a constant and a valid token.
    fileprivate static let link = HTTPField.Name("Link") ?? .location
}
