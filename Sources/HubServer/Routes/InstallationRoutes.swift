import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import NIOCore
import WebEdge

/// Installations (protocol document §4).
enum InstallationRoutes {
    static let routes = [
        // Azure has no list of installations.
        Route(method: .get, path: "/installations", right: .manage) { request, _ in
            .json([UInt8](try JSONEncoder.sorted.encode(try await list(request))))
        },
        Route(method: .put, path: "/installations/:id", right: .listen, isForWebApps: true) { request, hubs in
            let id = try request.installationID()
            try hubs.writeQuota.admit(request.grant, request.quotaKey)
            let body = try await request.request.bytes(limit: Installation.maximumBytes)
            try await request.hub.installations.put(
                try Installation(json: body, id: id, maximumTags: request.hub.configuration.maximumTags),
                bytes: body.count,
                grant: request.grant,
                channel: request.channel
            )
            let location = request.address("installations").item(id.urlPathSegment)
            return Response(status: .ok, headers: [.contentType: emptyType, .contentLocation: location])
        },
        Route(method: .get, path: "/installations/:id", right: .listen, isForWebApps: true) { request, _ in
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
        Route(method: .patch, path: "/installations/:id", right: .listen, isForWebApps: true) { request, hubs in
            let id = try request.installationID()
            try hubs.writeQuota.admit(request.grant, request.quotaKey)
            let body = try await request.request.bytes(limit: Installation.maximumBytes)
            try await request.hub.installations.patch(
                id,
                try InstallationPatch(json: body),
                bytes: body.count,
                grant: request.grant,
                channel: request.channel
            )
            return Response(status: .ok, headers: [.contentType: emptyType])
        },
        Route(method: .delete, path: "/installations/:id", right: .listen, isForWebApps: true) { request, hubs in
            let id = try request.installationIDToFind()
            try hubs.writeQuota.admit(request.grant, request.quotaKey)
            try await request.hub.installations.delete(id, grant: request.grant, channel: request.channel)
            return Response(status: .noContent)
        },
    ]

    /// The `stream` installations after a given one; with a tag or user, those that have it.
    ///
    /// Reads at most ``HubProtocol/InstallationList/maximumListed`` rows, whether they are returned or not, and returns
    /// at most `top`.
    private static func list(_ request: HubRequest) async throws -> InstallationList {
        let query = request.query
        guard query["platform"]?.lowercased() == Platform.stream.rawValue else {
            throw ProtocolError.badRequest(
                "'platform' must be 'stream'; installations of other platforms are among the registrations."
            )
        }
        let start = try query["from"].map { text throws(ProtocolError) -> Int64 in
            guard let number = Int64(text), number >= 0 else {
                throw .badRequest("'from' must come from the previous page, not '\(text.excerpt)'.")
            }
            return number
        }
        let tag = try query.literal("tag").map { text throws(ProtocolError) in try Tag(text) }
        let maximum = InstallationList.maximumListed
        let count = try query["top"].map { text throws(ProtocolError) -> Int in
            guard let count = Int(text), (1...maximum).contains(count) else {
                throw .badRequest("'top' must be a number from 1 to \(maximum), not '\(text.excerpt)'.")
            }
            return count
        }
        let after = Ordinal(rawValue: start ?? 0)
        let found = try await request.hub.store.streams(hub: request.hub.record.id, after: after, limit: maximum)
        var (listed, last): ([InstallationList.Entry], Ordinal?) = ([], nil)
        for stored in found {
            guard listed.count < count ?? maximum else { break }
            last = stored.ordinal
            if stored.isReadable, tag.map(stored.installation.has) ?? true { listed.append(.init(stored.installation)) }
        }
        let isLast = found.count < maximum && last == found.last?.ordinal
        return InstallationList(installations: listed, next: isLast ? nil : last.map { "\($0.rawValue)" })
    }

    /// The content type of Azure's empty bodies.
    private static let emptyType = "application/xml; charset=utf-8"
}

extension Installation {
    /// True if the installation has a tag, or is a user's with the server-assigned tag of that user.
    fileprivate func has(_ tag: Tag) -> Bool { tags.contains(tag) || userID.map { Tag.user($0) == tag } ?? false }
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
    static func json(_ bytes: [UInt8]) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: jsonType],
            body: .init(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }
}
