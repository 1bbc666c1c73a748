import HubProtocol

/// A notification for WNS, checked and ready.
struct WnsPush: PreparedPush {
    let lifetime: PushLifetime

    private let message: WnsMessage
    private let ownExpiry: Timestamp?
    private let service: WnsService

    init(_ message: WnsMessage, acceptedAt: Timestamp, service: WnsService) {
        self.message = message
        self.service = service
        ownExpiry = message.timeToLive.map { acceptedAt + .seconds($0) }
        lifetime =
            switch message.timeToLive {
            case nil: .unspecified
            case 0: .once
            case let seconds?: .until(acceptedAt + .seconds(seconds))
            }
    }

    var collapseKey: String? { message.collapseKey }

    func send(to target: PushTarget) async -> PushOutcome {
        guard case .handle(let uri) = target.channel else {
            return .unsendable("WNS does not send to a browser's subscription")
        }
        return await service.send(message.body, to: uri) { headers(expiresAt: target.expiresAt, now: $0) }
    }

    /// Returns the headers with the time to live that is left.
    private func headers(expiresAt: Timestamp?, now: Timestamp) -> [(name: String, value: String)] {
        guard let end = [ownExpiry, expiresAt].compactMap({ $0 }).min() else { return message.headers }
        return message.headers + [("X-WNS-TTL", "\(min(end.wholeSeconds(after: now), WnsMessage.maximumTime))")]
    }
}
