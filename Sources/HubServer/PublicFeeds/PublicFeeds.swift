import Formats
import HTTPTypes
import HubProtocol
import HubRouting
package import Hummingbird
import Logging
package import NIOCore
import NetworkAddresses
import WebEdge
import WebPages

/// Serves `/-/{hub}/feeds/{tag}.rss`, `.atom` and `.json`: the newest items of a category, for feed readers.
///
/// A client that may not read a feed gets the same response as for an unknown feed, after the same time, so that
/// nobody can find out the names of hubs.
package struct PublicFeeds: Sendable {
    /// The address, as responses are counted by it.
    private static let address = "/-/{hub}/feeds/{file}"
    /// Time in seconds for which readers may cache a feed.
    private static let maximumAge = 60

    private let hubs: HubDirectory
    private let configuration: HubConfiguration
    private let accessPolicy: PageAccessPolicy
    private let edge: ServerEdge

    init(_ hubs: HubDirectory, _ configuration: HubConfiguration, _ edge: ServerEdge) {
        (self.hubs, self.configuration, self.edge) = (hubs, configuration, edge)
        accessPolicy = PageAccessPolicy(configuration)
    }

    /// Answers a request for a feed of a hub.
    ///
    /// - Parameters:
    ///   - request: The request, which may have a token.
    ///   - hub: The hub's name in the path.
    ///   - file: The feed's name in the path.
    ///   - channel: The client's connection; `nil` if another node has it.
    ///   - isProven: True if the caller has found that the client may read feeds.
    /// - Returns: The feed, or the refusal.
    package func answer(
        _ request: Request,
        of hub: String,
        _ file: String,
        on channel: (any Channel)?,
        isProven: Bool
    ) async -> Response {
        let hub = try? hubs.hub(named: hub)
        // Checking a token takes as long for an unknown hub as for a known one.
        let grant = grant(request, hub?.tokens ?? hubs.namespaceTokens)
        // A page of another origin could read from a shared cache what was answered to a key with Manage.
        let isForEverybody = accessPolicy.access == .public && grant?.rights.contains(.manage) != true
        var response = await RefusalReplies(logger: edge.logger).answer(request) {
            let isProven = isProven || grant != nil
            return try await feed(request, hub, file, channel, isProven: isProven, isShared: isForEverybody)
        }
        edge.responses.add("GET \(Self.address)", status: response.status.code)
        if isForEverybody {
            for field in CrossOrigin.publicFeed { response.headers[field.name] = field.value }
        }
        return response
    }

    /// - Throws: 404 if the client may not read the feed, or there is none.
    private func feed(
        _ request: Request,
        _ hub: Hub?,
        _ file: String,
        _ channel: (any Channel)?,
        isProven: Bool,
        isShared: Bool
    ) async throws -> Response {
        // The same text for every reason.
        let nothing = ProtocolError.notFound("There is nothing at this address for \(request.method).")
        let peer = channel?.clientAddress
        guard accessPolicy.admits(request, peer: peer, isProven: isProven), let hub, !hub.status.isDisabled,
            let (tag, type) = Self.file(file)
        else { throw nothing }
        if isProven, let channel { edge.connections.prove(channel) }
        guard let page = try await hub.publicFeeds.page(of: tag, as: type, in: hub) else { throw nothing }
        let authority = edge.client.authority(request.head, peer: peer, local: channel?.localAddress?.networkAddress)
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
