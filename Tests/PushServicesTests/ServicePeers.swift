import CryptoExtras
import Foundation
import HubProtocol
import HubTestServer
import PushEmulator
import PushServices
import Synchronization

/// Services whose peer is the emulator or a script, and what their outcomes are called in tests.
enum ServicePeers {
    /// One key for all tests, since making one takes a while.
    static let key = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    /// A service account's credential; a change to `nil` leaves a property out.
    static func credential(_ changes: [String: String?] = [:]) throws -> PlatformCredential {
        var values: [String: String?] = [
            "ProjectId": "example-project", "ClientEmail": "push@example-project.iam.gserviceaccount.com",
            "PrivateKey": try key.get().pkcs8PEMRepresentation,
        ]
        values.merge(changes) { $1 }
        return PlatformCredential(
            .fcmV1,
            values.compactMap { name, value in value.map { PlatformCredential.Property(name: name, value: $0) } }
        )
    }

    static func wnsCredential(_ changes: [String: String?] = [:]) -> PlatformCredential {
        var values: [String: String?] = ["PackageSid": "ms-app://s-1-15-2-1-2-3", "SecretKey": "secret/+="]
        values.merge(changes) { $1 }
        return PlatformCredential(
            .wns,
            values.compactMap { name, value in value.map { PlatformCredential.Property(name: name, value: $0) } }
        )
    }

    /// A clock that stands still until it is set.
    final class Clock: Sendable {
        private let time: Mutex<Timestamp>

        init(_ time: Timestamp = Timestamp(Date())) { self.time = Mutex(time) }

        var now: Timestamp {
            get { time.withLock { $0 } }
            set { time.withLock { $0 = newValue } }
        }
    }

    /// Runs with a service that the emulator answers.
    static func run(
        _ credential: PlatformCredential,
        _ body: (PushEmulator, any PushService) async throws -> Void
    ) async throws {
        let folder = try ScratchFolder()
        let emulator = try await PushEmulator.start { Timestamp(Date()) }
        let file = folder.file("ca.pem")
        try Data(emulator.certificateAuthority.utf8).write(to: URL(fileURLWithPath: file))
        let directory = PushServiceDirectory(
            emulation: .init(origin: emulator.origin, certificateAuthorities: file, credentials: [])
        )
        let service = try directory.service(for: credential)
        do {
            try await body(emulator, service)
        } catch {
            await service.shutdown()
            await emulator.stop()
            throw error
        }
        await service.shutdown()
        await emulator.stop()
    }

    /// A service whose requests all go to a script.
    static func service(
        _ credential: PlatformCredential,
        _ server: ScriptedHTTPServer,
        clock: Clock = Clock()
    ) throws -> any PushService {
        try PushServiceDirectory(
            emulation: .init(origin: server.baseURL, certificateAuthorities: "/dev/null", credentials: []),
            now: { clock.now }
        ).service(for: credential)
    }

    /// A server that gives access tokens, `token-1` and so on, and answers everything else as the script says.
    static func server(
        _ answer: @escaping @Sendable (RecordedRequest) -> ScriptedReply
    ) throws -> ScriptedHTTPServer {
        let count = Atomic(0)
        return try ScriptedHTTPServer { request in
            guard isForToken(request) else { return answer(request) }
            let number = count.add(1, ordering: .relaxed).newValue
            return .status(200, body: #"{"access_token":"token-\#(number)","expires_in":3599}"#)
        }
    }

    static func isForToken(_ request: RecordedRequest) -> Bool {
        request.path == "/token" || request.path == "/accesstoken.srf" || request.path.hasSuffix("/oauth2/v2.0/token")
    }

    static func send(
        _ body: String,
        _ service: any PushService,
        to handle: String,
        format: MessageFormat = .fcmv1,
        headers: ForwardedHeaders = .none,
        acceptedAt: Timestamp = Timestamp(Date()),
        expiresAt: Timestamp? = nil
    ) async throws -> PushOutcome {
        let message = PushMessage(format: format, body: Array(body.utf8), headers: headers, acceptedAt: acceptedAt)
        let push = try ReadyPush(message, by: service)
        return await push.send(to: PushTarget(channel: .handle(handle), id: UUID(), expiresAt: expiresAt))
    }

    /// An outcome without its reason, id and wait.
    static func kind(_ outcome: PushOutcome) -> String {
        if case .throttled(let scope, _, _) = outcome { return "throttled \(scope)" }
        return String(summary(outcome).prefix { $0 != " " })
    }

    /// An outcome without its reason, with waits in seconds.
    static func summary(_ outcome: PushOutcome) -> String {
        func wait(_ duration: Duration?) -> String { duration.map { " \($0.components.seconds)" } ?? "" }
        return switch outcome {
        case .accepted(let id): "accepted\(id.map { " \($0)" } ?? "")"
        case .dropped: "dropped"
        case .deadHandle(let dead): dead.isCertain ? "dead" : "doubtful"
        case .replacedHandle: "replaced"
        case .badMessage: "badMessage"
        case .tooLarge: "tooLarge"
        case .badRoute: "badRoute"
        case .unsendable: "unsendable"
        case .retry(let after, _): "retry\(wait(after))"
        case .throttled(let scope, let after, _): "throttled \(scope)\(wait(after))"
        case .refusedSender: "refusedSender"
        case .refusedCredential: "refusedCredential"
        }
    }

    static func reason(_ outcome: PushOutcome) -> String {
        switch outcome {
        case .accepted, .replacedHandle: ""
        case .dropped(let reason), .badMessage(let reason), .tooLarge(let reason), .badRoute(let reason),
            .unsendable(let reason),
            .retry(_, let reason),
            .throttled(_, _, let reason), .refusedSender(let reason), .refusedCredential(let reason):
            reason
        case .deadHandle(let dead): dead.reason
        }
    }
}
