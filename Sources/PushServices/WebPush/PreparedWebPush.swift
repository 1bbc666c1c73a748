import Crypto
import Formats
import Foundation
import HubProtocol

/// A message to browsers, checked once for all of them.
///
/// Source: RFC 8030 §5.2 to §5.4.
struct PreparedWebPush: PreparedPush {
    /// Longest time that services keep a message: four weeks, in seconds.
    static let maximumTimeToLive: Int64 = 2_419_200
    private static let maximumTopic = 32
    private static let urgencies = ["very-low", "low", "normal", "high"]

    /// The message; empty for a push that only wakes the browser.
    let plaintext: [UInt8]
    let lifetime: PushLifetime
    /// Urgency of the message; `nil` for the service's default, `normal`.
    let urgency: String?
    /// Topic of the message, by its header or by the tag of its notification; `nil` if it has none, and then each target
    /// gets its own.
    let topic: String?
    /// The sender's own policy for Edge's service; `nil` if it has none.
    let cachePolicy: String?

    init(_ message: PushMessage, isDeclarative: Bool) throws(BadPushMessage) {
        guard message.format == .browser else {
            throw BadPushMessage("a message of format '\(message.format)' is not for browsers")
        }
        plaintext = isDeclarative ? DeclarativePush.wrap(message.body) : message.body
        guard plaintext.count <= WebPushContent.maximumPlaintext else {
            throw BadPushMessage(
                "the message has \(plaintext.count) bytes, and browsers accept \(WebPushContent.maximumPlaintext)",
                isTooLarge: true
            )
        }
        lifetime = try Self.lifetime(message)
        urgency = message.headers["urgency"]?.lowercased()
        if let urgency, !Self.urgencies.contains(urgency) {
            throw BadPushMessage("the header Urgency is not one of \(Self.urgencies.joined(separator: ", "))")
        }
        topic = message.headers["topic"] ?? DeclarativePush.tag(of: plaintext).map(Self.topic(ofTag:))
        if let topic {
            guard Self.isTopic(topic) else {
                throw BadPushMessage(
                    "the header Topic is not 1 to \(Self.maximumTopic) letters, digits, '-' or '_'"
                )
            }
        }
        cachePolicy = message.headers["x-wns-cache-policy"]?.lowercased()
        if let cachePolicy, !["cache", "no-cache"].contains(cachePolicy) {
            throw BadPushMessage("the header X-WNS-Cache-Policy is not cache or no-cache")
        }
    }

    var collapseKey: String? { topic }

    /// Returns the seconds that the service may keep the message for a target.
    func timeToLive(_ target: PushTarget, now: Timestamp) -> Int64 {
        let ends: [Timestamp]
        switch lifetime {
        case .once: return 0
        case .unspecified: ends = [target.expiresAt].compactMap(\.self)
        case .until(let end): ends = [end, target.expiresAt].compactMap(\.self)
        }
        guard let end = ends.min() else { return Self.maximumTimeToLive }
        return end <= now ? 0 : min((end - now).milliseconds / 1_000, Self.maximumTimeToLive)
    }

    /// Returns the topic for a target: the message's own, or a unique one, so that a repeat replaces the first copy.
    func topic(_ target: PushTarget) -> String {
        topic ?? withUnsafeBytes(of: target.id.uuid) { Base64URL.encode(Array($0)) }
    }

    /// Returns the topic of messages whose notifications have this tag: a browser that was away gets only the last one.
    private static func topic(ofTag tag: String) -> String {
        isTopic(tag) ? tag : Base64URL.encode(Array(SHA256.hash(data: Array(tag.utf8)).prefix(24)))
    }

    private static func isTopic(_ text: String) -> Bool {
        1...maximumTopic ~= text.utf8.count && text.hasOnlyLettersAndDigits(or: "-_")
    }

    private static func lifetime(_ message: PushMessage) throws(BadPushMessage) -> PushLifetime {
        guard let text = message.headers["ttl"] else { return .unspecified }
        guard text.isDigits else {
            throw BadPushMessage("the header TTL is not a whole number of seconds, 0 or more")
        }
        let seconds = min(Int64(text) ?? maximumTimeToLive, maximumTimeToLive)
        return PushLifetime(seconds: seconds, from: message.acceptedAt)
    }
}
