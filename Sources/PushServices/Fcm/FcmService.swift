import Formats
import HubProtocol
import OutboundHTTP
import Synchronization

/// Firebase Cloud Messaging, HTTP v1, used with one service account.
///
/// Source: Google, "REST Resource: projects.messages".
struct FcmService: PushService {
    /// Connections to FCM, and requests on each.
    private static let connections = 4
    private static let streams = 100
    private static let host = "fcm.googleapis.com"
    /// A token that no device has.
    private static let bogusToken = "newswire-tries-its-credential"

    /// True once FCM has answered about a message, not only about its access token.
    private final class Acquaintance: Sendable {
        private let isMade = Atomic(false)

        var value: Bool { isMade.load(ordering: .relaxed) }
        func make() { isMade.store(true, ordering: .relaxed) }
    }

    private let channel: ServiceChannel
    private let tokens: AccessTokens
    private let pace: FcmPace
    private let url: String
    private let now: @Sendable () -> Timestamp
    private let acquaintance = Acquaintance()

    init(
        _ credential: PlatformCredential,
        _ paces: FcmPaces,
        _ surroundings: ServiceSurroundings
    ) throws(BadCredential) {
        let account = try FcmAccount(credential)
        channel = ServiceChannel(surroundings, connections: Self.connections, streams: Self.streams)
        tokens = AccessTokens(
            channel,
            url: surroundings.origin(FcmAccount.tokenHost) + FcmAccount.tokenPath,
            now: surroundings.now
        ) {
            try account.form(at: $0)
        }
        pace = paces.pace(of: account.project)
        url = surroundings.origin(Self.host) + "/v1/projects/\(account.project)/messages:send"
        now = surroundings.now
    }

    var concurrency: Int { acquaintance.value ? Self.connections * Self.streams : 1 }

    func prepare(_ message: PushMessage) throws(BadPushMessage) -> FcmPush {
        let content =
            switch message.format {
            case .fcmv1: try FcmMessage(message.body)
            case .gcm: try FcmMessage(legacy: message.body)
            default: throw BadPushMessage("a message of format '\(message.format)' is not for FCM")
            }
        return FcmPush(content, acceptedAt: message.acceptedAt)
    }

    func send(_ push: FcmPush, to target: PushTarget) async -> PushOutcome {
        guard case .handle(let token) = target.channel else {
            return .unsendable("FCM does not send to a browser's subscription")
        }
        if let flaw = FcmPush.flaw(of: token) { return .unsendable(flaw) }
        return await send { push.body(token, expiresAt: target.expiresAt, now: $0) }
    }

    /// Sends a message to a token that no device has; FCM refuses it only after it has checked the sender.
    func tryCredential() async -> PushOutcome {
        let body: JSONText = ["validate_only": true, "message": ["token": JSONText(Self.bogusToken)]]
        return switch await attempt({ _ in body.bytes }) {
        case .accepted, .deadHandle, .badMessage, .badRoute: .accepted(id: nil)
        case let outcome: outcome
        }
    }

    func shutdown() async { await channel.shutdown() }

    /// Makes one attempt when it is this message's turn.
    ///
    /// The body is completed just before it is sent, since it contains the time that is left.
    private func send(_ body: @Sendable (Timestamp) -> [UInt8]) async -> PushOutcome {
        guard await pace.turn() else { return .retry(after: nil, "cancelled before its turn to be sent") }
        return await attempt(body)
    }

    private func attempt(_ body: @Sendable (Timestamp) -> [UInt8]) async -> PushOutcome {
        await tokens.attempt { token async throws(ServiceChannel.NoAnswer) in
            let response = try await channel.post(
                url,
                [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")],
                body(now())
            )
            let verdict = FcmReply(response, retryAfter: channel.retryAfter(response)).verdict
            switch verdict {
            case .staleToken, .outcome(.refusedCredential), .outcome(.retry): break
            case .outcome: acquaintance.make()
            }
            return verdict
        }
    }
}
