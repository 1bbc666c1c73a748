import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import NIOCore

/// Installations (protocol document §4).
enum InstallationRoutes {
    static let routes = [
        Route(method: .put, path: "/installations/:id", right: .listen) { request, hubs in
            let id = try request.installationID()
            try hubs.writeQuota.admit(request.grant, request.quotaKey)
            let body = try await request.body(limit: Installation.maximumBytes)
            try await request.hub.installations.put(
                try Installation(json: body, id: id, maximumTags: request.hub.configuration.maximumTags),
                bytes: body.count,
                grant: request.grant,
                channel: request.channel
            )
            let location = request.address("installations").item(id.urlPathSegment)
            return Response(status: .ok, headers: [.contentType: emptyType, .contentLocation: location])
        },
        Route(method: .get, path: "/installations/:id", right: .listen) { request, _ in
            let stored = try await request.hub.installations.installation(
                try request.installationIDToFind(),
                grant: request.grant,
                channel: request.channel
            )
            var reply = Response.json(Array(stored.installation.encodedJSON(as: .reply).utf8))
            // An app backend, which holds Manage, must not redirect an agent whose secret its caller does not know.
            if let channel = request.channel, let digest = stored.channelDigest {
                reply.headers[.pushChannelMatch] = "\(channel.matches(digest: digest))"
            }
            return reply
        },
        Route(method: .patch, path: "/installations/:id", right: .listen) { request, hubs in
            let id = try request.installationID()
            try hubs.writeQuota.admit(request.grant, request.quotaKey)
            let body = try await request.body(limit: Installation.maximumBytes)
            try await request.hub.installations.patch(
                id,
                try InstallationPatch(json: body),
                bytes: body.count,
                grant: request.grant,
                channel: request.channel
            )
            return Response(status: .ok, headers: [.contentType: emptyType])
        },
        Route(method: .delete, path: "/installations/:id", right: .listen) { request, hubs in
            let id = try request.installationIDToFind()
            try hubs.writeQuota.admit(request.grant, request.quotaKey)
            try await request.hub.installations.delete(id, grant: request.grant, channel: request.channel)
            return Response(status: .noContent)
        },
    ]

    /// The content type of Azure's empty bodies.
    private static let emptyType = "application/xml; charset=utf-8"
}

extension HubRequest {
    /// - Throws: 404 for an invalid id: SDKs take it as the answer to "does it exist?".
    fileprivate func installationIDToFind() throws(ProtocolError) -> InstallationID {
        let text = try parameter("id")
        guard let id = try? InstallationID(text) else { throw .noInstallation }
        return id
    }
}

extension HTTPField.Name {
    // The name is a constant of the protocol and a valid token.
    fileprivate static let pushChannelMatch = HTTPField.Name(HeaderName.pushChannelMatch) ?? .location
}

extension Response {
    static func json(_ bytes: [UInt8]) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "application/json; charset=utf-8"],
            body: .init(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }
}
