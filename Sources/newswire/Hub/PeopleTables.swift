import Foundation
import HostSystem
import HubProtocol
import HubServer
import HubStore
import OutboundHTTP
import SQLiteFiles
import Settings

/// The tables of people and pages in the file of a hub on this machine that shares its log, or has done so.
///
/// With a log, the running hub makes the changes.
struct PeopleTables: TableDatabase {
    /// Number of attempts, if others change the same rows meanwhile.
    private static let attempts = 5
    private static let timeout = Duration.seconds(30)

    private let database: String
    private let state: StateDirectory
    private let followsLog: Bool

    /// - Returns: `nil` for a hub whose app backend and pages have files of their own.
    init?(in state: StateDirectory) throws {
        let path = state.file(HubFiles.database)
        guard HostFile.exists(path) else { return nil }
        let (followsLog, hasTables, holdsPeople) = try DatabaseFileError.naming(path) {
            let followsLog = try LogMembership.position(of: path) != nil
            return try HubStore.readingTables(of: path) {
                (followsLog, try HubStore.hasPeople($0), try HubStore.holdsPeople($0))
            }
        }
        guard followsLog || holdsPeople else { return nil }
        guard hasTables else {
            throw Failure(
                .tryLater,
                "'\(path)' has the schema of an earlier version",
                hint: "start the hub with this version first"
            )
        }
        database = path
        self.state = state
        self.followsLog = followsLog
    }

    var failure: String? { nil }

    func check() async -> String? { nil }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (TableTransaction) throws -> Value
    ) async throws -> Value {
        try DatabaseFileError.naming(database) { try HubStore.readingTables(of: database, body) }
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (TableTransaction) throws -> Value
    ) async throws -> Value {
        guard followsLog else {
            return try DatabaseFileError.naming(database) { try HubStore.changingTables(of: database, body) }
        }
        let endpoint = try HubFiles.localEndpoint(in: state)
        let keyFile = state.file(HubFiles.localKey)
        guard HostFile.exists(keyFile) else { throw Self.noAnswer }
        let key = try PrivateFile.read(keyFile).trimmingCharacters(in: .whitespacesAndNewlines)
        return try await withHTTP { http in
            for _ in 0..<Self.attempts {
                let (value, change) = try DatabaseFileError.naming(database) {
                    try PreparedChange.tried(on: database, body)
                }
                if change.isEmpty { return value }
                let answer = try await send(change, to: endpoint, key, http)
                switch answer.status {
                case 204: return value
                case 409: continue
                case 503: throw Failure(.tryLater, "the hub cannot make changes now", hint: "try again in a minute")
                default:
                    throw Failure(
                        .failed,
                        "the hub at \(endpoint) refuses the change (status \(answer.status))",
                        hint: "another program may have its port, or another hub has started with this state directory"
                    )
                }
            }
            throw Failure(.tryLater, "others change the same rows", hint: "try again")
        }
    }

    private func send(
        _ change: PreparedChange,
        to endpoint: String,
        _ key: String,
        _ http: OutboundClient
    ) async throws -> OutboundResponse {
        do {
            return try await http.send(
                OutboundRequest(
                    method: "POST",
                    url: endpoint + HubService.localChangesPath.dropFirst(),
                    headers: [(HubService.localKeyHeader, key)],
                    body: change.encoded,
                    totalTimeout: Self.timeout,
                    maximumRedirects: 0,
                    addresses: .any
                )
            )
        } catch {
            throw Self.noAnswer
        }
    }

    private static let noAnswer = Failure(
        .hubUnreachable,
        "the hub on this machine does not answer, and with a log only the hub can make changes",
        hint: "start it, or use the command on the machine of another hub"
    )
}
