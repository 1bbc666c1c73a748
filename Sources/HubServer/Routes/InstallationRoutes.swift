import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import WebEdge

/// Installations (protocol document §4).
enum InstallationRoutes {
    static let routes = [
        // Azure has no list of installations.
        Route(method: .get, path: "/installations", right: .manage) { request in
            try .json(encoding: try await list(request))
        },
        Route(method: .put, path: "/installations/:id", right: .listen, isForWebApps: true) { request in
            let id = try request.installationID()
            try await request.operations.putInstallation(channel: request.channel) {
                let body = try await request.request.bytes(limit: Installation.maximumBytes)
                let maximumTags = request.hub.configuration.maximumTags
                return (try Installation(json: body, id: id, maximumTags: maximumTags), body.count)
            }
            let location = request.address("installations").item(id.urlPathSegment)
            return Response(status: .ok, headers: [.contentType: emptyType, .contentLocation: location])
        },
        Route(method: .get, path: "/installations/:id", right: .listen, isForWebApps: true) { request in
            let stored = try await request.operations.installation(
                try request.installationIDToFind(),
                channel: request.channel
            )
            var reply = Response.json(Array(stored.installation.encodedJSON(as: .reply).utf8))
            // An app backend, which holds Manage, must not redirect an agent whose secret its caller does not know.
            if let channel = request.channel, let digest = stored.channelDigest {
                reply.headers[.pushChannelMatch] = "\(channel.matches(digest: digest))"
            }
            return reply
        },
        Route(method: .patch, path: "/installations/:id", right: .listen, isForWebApps: true) { request in
            try await request.operations.patchInstallation(try request.installationID(), channel: request.channel) {
                let body = try await request.request.bytes(limit: Installation.maximumBytes)
                return (try InstallationPatch(json: body), body.count)
            }
            return Response(status: .ok, headers: [.contentType: emptyType])
        },
        Route(method: .delete, path: "/installations/:id", right: .listen, isForWebApps: true) { request in
            let id = try request.installationIDToFind()
            try await request.operations.deleteInstallation(id, channel: request.channel)
            return Response(status: .noContent)
        },
    ]

    private static func list(_ request: HubRequest) async throws -> InstallationList {
        let query = request.query
        guard query["platform"]?.lowercased() == Platform.stream.rawValue else {
            throw ProtocolError.badRequest(
                "'platform' must be 'stream'; installations of other platforms are among the registrations."
            )
        }
        let tag = try query.literal("tag").map { text throws(ProtocolError) in try Tag(text) }
        let count = try request.number("top", maximum: InstallationList.maximumListed)
        return try await request.operations.streamInstallations(
            with: tag,
            from: query["from"],
            count: count ?? InstallationList.maximumListed
        )
    }

    /// The content type of Azure's empty bodies.
    private static let emptyType = "application/xml; charset=utf-8"
}

extension HubRequest {
    /// - Throws: 404 for an invalid id: SDKs take it as the answer to "does it exist?".
    fileprivate func installationIDToFind() throws(ProtocolError) -> InstallationID {
        let text = try context.parameter("id")
        guard let id = try? InstallationID(text) else { throw .noInstallation }
        return id
    }
}

extension HTTPField.Name {
    // The name is a constant of the protocol and a valid token.
    fileprivate static let pushChannelMatch = HTTPField.Name(HeaderName.pushChannelMatch) ?? .location
}

extension Response {
    static func json(encoding value: some Encodable) throws -> Response {
        json([UInt8](try JSONEncoder.sorted.encode(value)))
    }

    static func json(_ bytes: [UInt8]) -> Response { Response(String(decoding: bytes, as: UTF8.self), jsonType) }
}
