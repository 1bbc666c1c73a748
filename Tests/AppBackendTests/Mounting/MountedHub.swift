import AppBackend
import Foundation
import HubServer
import HubTestServer
import Logging
import MountedBackend
import OutboundHTTP

/// A hub on a free port of loopback that serves the app backend itself.
struct MountedHub: Sendable {
    let hub: TestHub
    let http: OutboundClient
    /// Where the hub and the app backend keep their files.
    let folder: String

    var database: String { "\(folder)/backend.sqlite" }

    /// Runs a hub for the length of `body`.
    static func run(
        in scratch: ScratchFolder? = nil,
        hasUsers: Bool = true,
        logger: Logger = .quiet,
        configure: (inout HubConfiguration) -> Void = { _ in },
        _ body: (MountedHub) async throws -> Void
    ) async throws {
        let scratch = try scratch ?? ScratchFolder()
        let database = scratch.file("backend.sqlite")
        if hasUsers { try await TestBackend.addUsers(to: try BackendStore(path: database)) }
        let http = OutboundClient(userAgent: "newswire-test/1")
        let result: Result<Void, any Error>
        do {
            try await TestHub.run(in: scratch, logger: logger, configure: configure) { service in
                var configuration = BackendConfiguration()
                configuration.hasher = TestBackend.hasher
                let mount = BackendMount(
                    BackendMount.Storage.files(database: database, key: scratch.file("backend.key")),
                    on: service,
                    configuration: configuration,
                    checkInterval: .milliseconds(5),
                    logger: logger
                )
                return [mount.application]
            } _: { hub in
                try await body(MountedHub(hub: hub, http: http, folder: scratch.path))
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await http.shutdown()
        try result.get()
    }

    /// Sends one request to the hub's port; without a user it has no credentials.
    func send(
        _ method: String,
        _ target: String,
        as user: String? = nil,
        headers: [(String, String)] = [],
        _ body: String? = nil
    ) async throws -> BackendReply {
        var headers = headers
        if let user {
            let credentials = Data("\(user):\(user.lowercased())".utf8).base64EncodedString()
            headers.append(("Authorization", "Basic \(credentials)"))
        }
        let reply = try await http.send(
            OutboundRequest(
                method: method,
                url: "http://127.0.0.1:\(hub.port)\(target)",
                headers: headers,
                body: body.map { Array($0.utf8) },
                totalTimeout: .seconds(600),
                idleTimeout: .seconds(600),
                maximumRedirects: 0,
                addresses: .any
            )
        )
        return BackendReply(
            status: reply.status,
            headers: reply.headers,
            body: String(decoding: reply.body, as: UTF8.self)
        )
    }

    /// Registers a device of a user's, and gives its id.
    func register(_ user: String, handle: String = "AA") async throws -> String {
        let id = try await send("POST", "/api/register", as: user).body.dropFirst().dropLast()
        let reply = try await send(
            "PUT",
            "/api/register/\(id)",
            as: user,
            #"{"Platform":"apns","Handle":"\#(handle)"}"#
        )
        guard reply.status == 200 else { throw RegisterClient.Failed(status: reply.status, body: reply.body) }
        return String(id)
    }
}
