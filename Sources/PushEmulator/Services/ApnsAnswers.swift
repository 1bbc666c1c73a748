import Formats
import Foundation
import HubProtocol
import WebTokens

/// Answers of the Apple Push Notification service.
///
/// Source: Apple, "Sending notification requests to APNs", "Establishing a token-based connection to APNs" and
/// "Handling notification responses from APNs".
struct ApnsAnswers: PushAnswers {
    static let path = "/3/device/"
    /// Longest token, in digits; Apple does not publish a limit.
    private static let maximumToken = 200
    private static let maximumCollapseID = 64
    private static let maximumPayload = 4_096
    private static let maximumVoIPPayload = 5_120
    /// Seconds.
    private static let tokenLifetime: Int64 = 3_600
    /// Seconds that a sender's clock may be ahead.
    private static let clockTolerance: Int64 = 60
    /// Prefix of team ids that are refused.
    static let refusedTeam = "REFUSED"

    func check(_ request: EmulatorRequest) throws(EmulatorReply) -> AcceptedPush {
        // APNs does not accept HTTP/1.1 at all.
        guard request.isHTTP2 else { throw EmulatorReply(505) }
        guard request.method == "POST" else { throw Self.reply(405, "MethodNotAllowed", request) }
        let token = request.path.dropFirst(Self.path.count)
        guard !token.isEmpty else { throw Self.reply(400, "MissingDeviceToken", request) }
        guard !token.contains("/") else { throw Self.reply(404, "BadPath", request) }
        try checkRepeats(request)
        let isCertificate = try checkProvider(request)
        guard token.utf8.count <= Self.maximumToken, token.utf8.count.isMultiple(of: 2),
            token.utf8.allSatisfy({ Hexadecimal.value($0) != nil })
        else { throw Self.reply(400, "BadDeviceToken", request) }
        let type = try checkHeaders(request, isCertificate: isCertificate)
        try checkPayload(request, type)
        let id = request.header("apns-id") ?? UUID().uuidString
        return AcceptedPush(
            device: EmulatedDevice(service: .apns, id: token.lowercased()),
            messageID: id,
            reply: EmulatorReply(
                200,
                [HeaderLine("apns-id", id), HeaderLine("apns-unique-id", UUID().uuidString.lowercased())]
            ),
            collapseKey: request.header("apns-collapse-id").map { "\(request.header("apns-topic") ?? "") \($0)" }
        )
    }

    func reply(to push: AcceptedPush, _ request: EmulatorRequest, _ fault: FaultScript.MetFault) -> EmulatorReply? {
        switch fault.effect {
        case .dead(let since):
            let time = (since ?? request.receivedAt).milliseconds
            return Self.reply(410, "Unregistered", request, more: [("timestamp", JSONText(time))])
        case .malformed: return Self.reply(400, "BadDeviceToken", request)
        case .throttled(let wait):
            let reason = fault.isWholeService ? "TooManyProviderTokenUpdates" : "TooManyRequests"
            return Self.reply(429, reason, request, [wait.retryAfter])
        case .unavailable(let wait): return Self.reply(503, "ServiceUnavailable", request, [wait.retryAfter])
        case .internalError: return Self.reply(500, "InternalServerError", request)
        case .badCredential: return Self.reply(403, "InvalidProviderToken", request)
        case .wrongTopic: return Self.reply(400, "DeviceTokenNotForTopic", request)
        case .slow, .goAway, .dropped: return nil
        }
    }

    static func reply(
        _ status: Int,
        _ reason: String,
        _ request: EmulatorRequest,
        _ headers: [HeaderLine] = [],
        more: JSONText.Members = []
    ) -> EmulatorReply {
        let id = request.header("apns-id").flatMap { Self.isCanonicalUUID($0) ? $0 : nil } ?? UUID().uuidString
        return EmulatorReply(
            status,
            [HeaderLine("apns-id", id)] + headers,
            json: JSONText(members: [("reason", JSONText(reason))] + more)
        )
    }
}

// MARK: The parts of a request

extension ApnsAnswers {
    private func checkRepeats(_ request: EmulatorRequest) throws(EmulatorReply) {
        var names: Set<String> = []
        for header in request.headers where header.name.hasPrefix("apns-") || header.name == "authorization" {
            guard names.insert(header.name).inserted else { throw Self.reply(400, "DuplicateHeaders", request) }
        }
    }

    /// Returns true if the client authenticated with a certificate.
    private func checkProvider(_ request: EmulatorRequest) throws(EmulatorReply) -> Bool {
        guard request.header("authorization") != nil else {
            guard request.connection.hasClientCertificate else {
                throw Self.reply(403, "MissingProviderToken", request)
            }
            return true
        }
        guard let text = request.credentials("bearer"), let token = try? SignedToken(text, algorithms: [.es256]),
            let key = token.keyID, !key.isEmpty, let team = token.text("iss"),
            let issued = token.time("iat"),
            // RFC 7518 §3.4: two 32-byte numbers, not DER.
            token.signature.count == 64,
            !team.hasPrefix(Self.refusedTeam)
        else { throw Self.reply(403, "InvalidProviderToken", request) }
        let age = request.receivedAt.seconds.subtractingReportingOverflow(issued)
        guard !age.overflow, age.partialValue >= -Self.clockTolerance else {
            throw Self.reply(403, "InvalidProviderToken", request)
        }
        guard age.partialValue <= Self.tokenLifetime else { throw Self.reply(403, "ExpiredProviderToken", request) }
        let first = request.connection.provider(.init(team: team, keyID: key))
        guard first.team == team else { throw Self.reply(403, "InvalidProviderToken", request) }
        guard first.keyID == key else { throw Self.reply(403, "UnrelatedKeyIdInToken", request) }
        return false
    }

    /// Returns the push type; `nil` if the request has none.
    private func checkHeaders(_ request: EmulatorRequest, isCertificate: Bool) throws(EmulatorReply) -> ApnsPushType? {
        if let id = request.header("apns-id"), !Self.isCanonicalUUID(id) {
            throw Self.reply(400, "BadMessageId", request)
        }
        if let expiration = request.header("apns-expiration") {
            guard expiration.isDigits, Int64(expiration) != nil else {
                throw Self.reply(400, "BadExpirationDate", request)
            }
        }
        let priority = request.header("apns-priority")
        if let priority, !["1", "5", "10"].contains(priority) { throw Self.reply(400, "BadPriority", request) }
        if let collapse = request.header("apns-collapse-id") {
            guard (1...Self.maximumCollapseID).contains(collapse.utf8.count) else {
                throw Self.reply(400, "BadCollapseId", request)
            }
        }
        var type: ApnsPushType?
        if let name = request.header("apns-push-type") {
            guard let known = ApnsPushType(rawValue: name) else { throw Self.reply(400, "InvalidPushType", request) }
            type = known
        }
        if type == .background, priority ?? "10" == "10" { throw Self.reply(400, "BadPriority", request) }
        guard let topic = request.header("apns-topic") else {
            guard isCertificate else { throw Self.reply(400, "MissingTopic", request) }
            return type
        }
        guard !topic.isEmpty, topic.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), type?.allows(topic: topic) ?? true
        else {
            throw Self.reply(400, "BadTopic", request)
        }
        return type
    }

    private func checkPayload(_ request: EmulatorRequest, _ type: ApnsPushType?) throws(EmulatorReply) {
        guard !request.body.isEmpty else { throw Self.reply(400, "PayloadEmpty", request) }
        guard request.body.count <= (type == .voip ? Self.maximumVoIPPayload : Self.maximumPayload) else {
            throw Self.reply(413, "PayloadTooLarge", request)
        }
        // Apple's list has no reason for a payload that is not JSON.
        guard let payload = try? JSONReader.read(request.body, allowsRepeats: true), payload.members != nil else {
            throw Self.reply(400, "PayloadEmpty", request)
        }
        guard type?.allows(payload["aps"]) ?? true else { throw Self.reply(400, "InvalidPushType", request) }
    }

    private static func isCanonicalUUID(_ text: String) -> Bool {
        text == text.lowercased() && UUID(uuidString: text) != nil
    }
}

/// A value of `apns-push-type`.
enum ApnsPushType: String, Sendable, CaseIterable {
    case alert, background, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk, widgets, controls

    /// The suffix of the topic after the bundle id.
    private var topicSuffix: String? {
        switch self {
        case .alert, .background, .mdm: nil
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    func allows(topic: String) -> Bool {
        topicSuffix.map { topic.hasSuffix($0) && topic.utf8.count > $0.utf8.count } ?? true
    }

    /// True if a payload with this `aps` may be sent with this type.
    func allows(_ aps: JSONNode?) -> Bool {
        guard self == .background else { return true }
        return aps?["content-available"]?.integer == 1
            && ["alert", "badge", "sound"].allSatisfy { aps?[$0] == nil }
    }
}
