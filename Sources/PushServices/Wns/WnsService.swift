import HubProtocol
import OutboundHTTP

/// Windows Push Notification Services, used with the credential of one app.
struct WnsService: PushService {
    /// Connections to all hosts together; WNS speaks HTTP/1.1, with one request at a time on each.
    private static let connections = 64

    private let account: WnsAccount
    private let channel: ServiceChannel
    private let tokens: AccessTokens
    private let addresses: WnsChannelAddress
    private let policy: AddressPolicy
    private let surroundings: ServiceSurroundings

    init(_ credential: PlatformCredential, _ surroundings: ServiceSurroundings) throws(BadCredential) {
        account = try WnsAccount(credential)
        channel = ServiceChannel(
            surroundings,
            connections: Self.connections,
            maximumConnections: Self.connections
        )
        tokens = Self.tokens(account, channel, surroundings)
        addresses = WnsChannelAddress(emulation: surroundings.emulation?.origin)
        policy = surroundings.emulation == nil ? .publicOnly : .any
        self.surroundings = surroundings
    }

    private static func tokens(
        _ account: WnsAccount,
        _ channel: ServiceChannel,
        _ surroundings: ServiceSurroundings
    ) -> AccessTokens {
        AccessTokens(channel, url: account.tokenAddress(surroundings), now: surroundings.now) { _ in account.form }
    }

    /// Half of the connections: the hub sends at most twice the number for one host to all hosts together.
    var concurrency: Int { Self.connections / 2 }

    func prepare(_ message: PushMessage) throws(BadPushMessage) -> WnsPush {
        guard message.format == .windows else {
            throw BadPushMessage("a message of format '\(message.format)' is not for WNS")
        }
        return WnsPush(try WnsMessage(message), acceptedAt: message.acceptedAt)
    }

    func send(_ push: WnsPush, to target: PushTarget) async -> PushOutcome {
        guard case .handle(let uri) = target.channel else {
            return .unsendable("WNS does not send to a browser's subscription")
        }
        guard let address = addresses.address(of: uri) else {
            return .unsendable("the channel URI is not an https address of notify.windows.com")
        }
        return await tokens.attempt { token async throws(ServiceChannel.NoAnswer) in
            // Made just before they are sent, since they contain the time that is left.
            let headers = push.headers(expiresAt: target.expiresAt, now: surroundings.now())
            let response = try await channel.post(
                address,
                [("Authorization", "Bearer \(token)")] + headers,
                push.body,
                addresses: policy
            )
            return WnsReply(response, retryAfter: channel.retryAfter(response)).verdict
        }
    }

    /// Fetches an access token, even if there is one already.
    func tryCredential() async -> PushOutcome {
        do {
            _ = try await Self.tokens(account, channel, surroundings).token()
            return .accepted(id: nil)
        } catch {
            return error.outcome
        }
    }

    func shutdown() async { await channel.shutdown() }
}
