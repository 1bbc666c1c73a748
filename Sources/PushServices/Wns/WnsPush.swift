import HubProtocol

/// A notification for WNS, checked and ready.
struct WnsPush: PreparedPush {
    let lifetime: PushLifetime

    private let message: WnsMessage
    private let ownExpiry: Timestamp?

    init(_ message: WnsMessage, acceptedAt: Timestamp) {
        self.message = message
        ownExpiry = message.timeToLive.map { acceptedAt + .seconds($0) }
        lifetime = PushLifetime(seconds: message.timeToLive, from: acceptedAt)
    }

    var collapseKey: String? { message.collapseKey }

    var body: [UInt8] { message.body }

    /// Returns the headers with the time to live that is left.
    func headers(expiresAt: Timestamp?, now: Timestamp) -> [(name: String, value: String)] {
        guard let end = [ownExpiry, expiresAt].compactMap({ $0 }).min() else { return message.headers }
        return message.headers + [("X-WNS-TTL", "\(min(end.wholeSeconds(after: now), WnsMessage.maximumTime))")]
    }
}
