import Formats
import HubProtocol

/// A checked message for APNs, without the parts that differ from device to device.
struct ApnsMessage: PreparedPush {
    let body: [UInt8]
    /// All headers except `apns-id`, `apns-expiration` and `authorization`.
    let headers: [(name: String, value: String)]
    let lifetime: PushLifetime
    let collapseKey: String?
    /// True if the topic is the bundle id: if APNs refuses it, it refuses the credential.
    let isOwnTopic: Bool

    /// Requirements of a push type.
    private struct Kind {
        let name: String
        /// Suffix of the topic after the bundle id.
        let suffix: String
        var needsToken = false
        var maximumBytes = 4_096
    }

    /// Source: Apple, "Sending notification requests to APNs".
    private static let kinds = [
        Kind(name: "alert", suffix: ""), Kind(name: "background", suffix: ""),
        Kind(name: "location", suffix: ".location-query", needsToken: true),
        Kind(name: "voip", suffix: ".voip", maximumBytes: 5_120), Kind(name: "complication", suffix: ".complication"),
        Kind(name: "fileprovider", suffix: ".pushkit.fileprovider"),
        Kind(name: "liveactivity", suffix: ".push-type.liveactivity", needsToken: true),
        Kind(name: "pushtotalk", suffix: ".voip-ptt"), Kind(name: "widgets", suffix: ".push-type.widgets"),
        Kind(name: "controls", suffix: ".push-type.controls"),
    ]

    init(_ message: PushMessage, for credential: ApnsCredential) throws(BadPushMessage) {
        guard let payload = try? JSONReader.read(message.body, allowsRepeats: true), payload.members != nil else {
            throw BadPushMessage("the payload is not a JSON object")
        }
        let given = message.headers
        let kind = try Self.kind(given, payload, credential)
        if kind.needsToken, case .certificate = credential.proof {
            throw BadPushMessage("the push type '\(kind.name)' needs a key, and the hub has a certificate")
        }
        guard message.body.count <= kind.maximumBytes else {
            throw BadPushMessage(
                "the payload has \(message.body.count) bytes; APNs accepts \(kind.maximumBytes)",
                isTooLarge: true
            )
        }
        let topic = try Self.topic(given["apns-topic"], kind, credential)
        isOwnTopic = topic == credential.bundle
        let priority = try Self.priority(given, kind)
        let collapse = given["apns-collapse-id"]
        guard collapse.map({ (1...64).contains($0.utf8.count) && $0.utf8.allSatisfy { 0x20...0x7E ~= $0 } }) ?? true
        else {
            throw BadPushMessage("apns-collapse-id is not 1 to 64 visible ASCII characters")
        }
        lifetime = try Self.lifetime(given["apns-expiration"])
        collapseKey = collapse.map { "\(topic) \($0)" }
        body = message.body
        headers =
            [("apns-topic", topic), ("apns-push-type", kind.name), ("apns-priority", priority)]
            + (collapse.map { [("apns-collapse-id", $0)] } ?? [])
    }

    private static func kind(
        _ given: ForwardedHeaders,
        _ payload: JSONNode,
        _ credential: ApnsCredential
    ) throws(BadPushMessage) -> Kind {
        if let name = given["apns-push-type"]?.lowercased() {
            guard let kind = kinds.first(where: { $0.name == name }) else {
                throw BadPushMessage("apns-push-type '\(name.prefix(40))' is not one that the hub sends")
            }
            return kind
        }
        // The topic's suffix also names the type.
        if let topic = given["apns-topic"],
            let kind = kinds.first(where: { !$0.suffix.isEmpty && topic == credential.bundle + $0.suffix })
        {
            return kind
        }
        let aps = payload["aps"]
        let isSilent =
            aps?["content-available"]?.integer == 1
            && ["alert", "badge", "sound"].allSatisfy { aps?[$0] == nil }
        return kinds[isSilent ? 1 : 0]
    }

    private static func topic(
        _ given: String?,
        _ kind: Kind,
        _ credential: ApnsCredential
    ) throws(BadPushMessage) -> String {
        let own = credential.bundle + kind.suffix
        guard let given, given != credential.bundle, given != own else { return own }
        guard credential.topics.contains(given) else {
            throw BadPushMessage(
                "apns-topic '\(given.prefix(160))' does not match the hub's bundle id: omit it, or use '\(own)'"
            )
        }
        return given
    }

    private static func priority(_ given: ForwardedHeaders, _ kind: Kind) throws(BadPushMessage) -> String {
        let isBackground = kind.name == "background"
        guard let priority = given["apns-priority"] else { return isBackground ? "5" : "10" }
        guard ["1", "5", "10"].contains(priority) else {
            throw BadPushMessage("apns-priority '\(priority.prefix(20))' is not 1, 5 or 10")
        }
        guard isBackground, priority == "10" else { return priority }
        // A sender who did not choose the type did not mean to contradict it.
        guard given["apns-push-type"] == nil else {
            throw BadPushMessage("apns-priority is 10, and background messages must have 5")
        }
        return "5"
    }

    private static func lifetime(_ expiration: String?) throws(BadPushMessage) -> PushLifetime {
        guard let expiration else { return .unspecified }
        guard let seconds = Int64(expiration), (0...32_503_680_000).contains(seconds) else {
            throw BadPushMessage("apns-expiration '\(expiration.prefix(40))' is not seconds since 1970")
        }
        return seconds == 0 ? .once : .until(Timestamp(milliseconds: seconds * 1_000))
    }
}
