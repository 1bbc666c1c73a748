import Dispatch
import Formats
import Foundation
import HTTPTypes
import HostSystem
import HubProtocol
import Hummingbird
import Logging
import NIOCore
import NetworkAddresses
import ServiceLifecycle
import Signals
import WebEdge

/// Hands out a ``NodeInvitation`` for its code: the parcel as one line of JSON, then the database.
struct NodeAdmission: HTTPResponder {
    typealias Context = WebContext<Never>

    /// The first segment of its path.
    static let segment = "$join"
    static let path = "/\(segment)/"
    private static let piece = 256 << 10
    private static let unknown = ProtocolError.forbidden(
        "The code is not valid: it was used, has expired, or was made on another hub's machine."
    )

    /// The state directory.
    let folder: String
    let others: OtherNodes
    let now: @Sendable () -> Timestamp
    let logger: Logger

    func respond(to request: Request, context: WebContext<Never>) async throws -> Response {
        do {
            guard request.method == .post, request.uri.path == Self.path else {
                throw ProtocolError.notFound("There is nothing at this address.")
            }
            let body = try await request.bytes(limit: PushChannelSecret.length)
            let (parcel, database) = try await admit(String(decoding: body, as: UTF8.self), context.client)
            logger.notice(
                "a new node has fetched the hub's keys and database",
                metadata: [
                    "node.name": "\(parcel.node)",
                    "client.address": "\(context.client.peer.map { "\($0)" } ?? "unknown")",
                ]
            )
            return try Self.answer(parcel, database)
        } catch let refusal as ProtocolError {
            return ErrorReply(refusal).response
        } catch let fault as RequestFault {
            return ErrorReply(fault.refusal).response
        } catch {
            logger.error("cannot hand out the files of a new node", metadata: ["error.reason": "\(error)"])
            return ErrorReply(.internalError("The hub failed; its log has the details.")).response
        }
    }

    private func admit(
        _ text: String,
        _ client: WebClient
    ) async throws -> (NodeInvitation.Parcel, FileHandle) {
        guard let secret = try? PushChannelSecret(text), let invitation = NodeInvitation.read(in: folder),
            secret.matches(digest: invitation.digest)
        else { throw Self.unknown }
        guard await client.speaksTLS else {
            // Others on the network may have it now.
            try NodeInvitation.remove(in: folder)
            throw ProtocolError.badRequest("A code is taken over TLS only, and this one was ended: make another one.")
        }
        guard !invitation.isExpired(at: now()) else {
            try NodeInvitation.remove(in: folder)
            throw Self.unknown
        }
        let parcel = invitation.parcel
        guard !others.isServing(parcel.node) else {
            throw ProtocolError.conflict("A hub with the name '\(parcel.node)' is running.")
        }
        guard let database = try NodeInvitation.take(in: folder) else { throw Self.unknown }
        return (parcel, database)
    }

    private static func answer(_ parcel: NodeInvitation.Parcel, _ database: FileHandle) throws -> Response {
        let head = Array(try JSONEncoder.sorted.encode(parcel)) + [UInt8(ascii: "\n")]
        return Response(
            status: .ok,
            headers: [.contentType: "application/octet-stream", .cacheControl: "no-store"],
            body: ResponseBody(contentLength: head.count + parcel.databaseBytes) { writer in
                try await writer.write(ByteBuffer(bytes: head))
                while let bytes = try await DispatchQueue.global().run({ try database.read(upToCount: piece) }) {
                    if bytes.isEmpty { break }
                    try await writer.write(ByteBuffer(bytes: bytes))
                }
                try await writer.finish(nil)
            }
        )
    }

    /// Ends an invitation that nobody has used.
    func removeExpired() {
        do {
            guard let invitation = NodeInvitation.read(in: folder) else {
                return try NodeInvitation.removeLeftovers(in: folder, at: Date())
            }
            if invitation.isExpired(at: now()) { try NodeInvitation.remove(in: folder) }
        } catch {
            logger.warning("cannot remove an expired invitation of a node", metadata: ["error.reason": "\(error)"])
        }
    }
}

extension HubService {
    /// The path at which a new node hands in its code.
    package static let admissionPath = NodeAdmission.path

    /// Hands out the invitation of a new node in a state directory; `nil` for a hub with one node.
    package func nodeAdmission(in folder: String) -> MountedApplication? {
        guard let others = served.others else { return nil }
        let configuration = served.configuration
        let admission = NodeAdmission(
            folder: folder,
            others: others,
            now: { configuration.timestamp },
            logger: served.logger
        )
        return MountedApplication(
            "invitations of nodes",
            below: NodeAdmission.segment,
            staysHere: true,
            responder: admission,
            services: [ExpiredInvitations(admission: admission)]
        )
    }
}

private struct ExpiredInvitations: Service {
    private static let interval = Duration.seconds(600)

    let admission: NodeAdmission

    func run() async throws {
        await repeatUntilStopped(every: Self.interval, startsNow: true) { admission.removeExpired() }
    }
}
