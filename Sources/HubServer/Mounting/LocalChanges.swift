import HTTPTypes
package import HubProtocol
import HubStore
import Hummingbird
import NetworkAddresses
import WebEdge

/// Changes that a command on this machine makes in the tables of people and pages, through the running hub.
///
/// A hub with a log is the only one that can write its file. The command has a key from the hub's state directory.
struct LocalChanges: HTTPResponder {
    typealias Context = WebContext<Never>

    /// The first segment of its paths.
    static let segment = "$local"
    static let keyHeader = "Newswire-Local-Key"
    /// Largest change, in bytes.
    static let maximumBytes = 1 << 20

    private struct Conflict: Error {}

    let service: HubService
    /// 256 random bits, as a stream's secret has them.
    let key: PushChannelSecret

    func respond(to request: Request, context: WebContext<Never>) async throws -> Response {
        let given = request.headers[named: Self.keyHeader].flatMap { try? PushChannelSecret($0) }
        guard let given, given.matches(digest: key.digest), context.client.peer?.isLoopback ?? true else {
            return ErrorReply(.notFound("There is nothing at this address.")).response
        }
        do {
            guard request.method == .post, request.uri.path == Self.changesPath else {
                throw ProtocolError.notFound("There is nothing at this address.")
            }
            let body = try await request.bytes(limit: Self.maximumBytes)
            guard let change = try? PreparedChange(encoded: body) else {
                throw ProtocolError.badRequest("The body is not a change.")
            }
            try await service.served.writer.perform(bytes: body.count) { transaction, _ in
                // What comes into the tables meanwhile could have the key of a row that is still to be copied.
                try HubTables.checkComplete(transaction.tables)
                guard try transaction.repeat(change) else { throw Conflict() }
                return ((), [])
            }
            return Response(status: .noContent)
        } catch let refusal as ProtocolError {
            return ErrorReply(refusal).response
        } catch {
            // Also a statement that the tables refuse by now, such as a second user of a name: the command tries again, and says
            // what is in its way.
            return ErrorReply(.conflict("The tables have changed meanwhile.")).response
        }
    }

    static let changesPath = "/\(segment)/changes"
}

extension HubService {
    /// The header with the key of ``localChanges(key:)``.
    package static let localKeyHeader = LocalChanges.keyHeader
    /// The path of ``localChanges(key:)``.
    package static let localChangesPath = LocalChanges.changesPath

    /// Lets commands on this machine that have a key change the tables of people and pages.
    package func localChanges(key: PushChannelSecret) -> MountedApplication {
        MountedApplication(
            "commands of this machine",
            below: LocalChanges.segment,
            staysHere: true,
            responder: LocalChanges(service: self, key: key)
        )
    }
}
