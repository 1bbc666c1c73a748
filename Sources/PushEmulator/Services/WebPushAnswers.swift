import Crypto
import Formats
import Foundation
import HubProtocol

/// Answers of a push service for browsers, with the error bodies of Mozilla's.
///
/// Source: RFC 8030 §5, RFC 8291 §4, RFC 8292 §2–§4; Mozilla, "autopush HTTP endpoints" for the codes.
struct WebPushAnswers: PushAnswers {
    private static let maximumBody = 4_096
    private static let maximumTopic = 32
    /// Longest time to live that the service grants: four weeks, in seconds.
    private static let maximumTimeToLive: Int64 = 2_419_200

    let browsers: EmulatedBrowserKeys

    func check(_ request: EmulatorRequest) throws(EmulatorReply) -> AcceptedPush {
        guard request.method == "POST" else { throw Self.reply(405, 999, "the method is not allowed") }
        let id = String(request.path.dropFirst(EmulatedDevice.endpointPath.count))
        guard !id.isEmpty, !id.contains("/") else { throw Self.reply(404, 102, "the endpoint is unknown") }
        let timeToLive = try checkHeaders(request)
        let key = try checkSender(request)
        guard EmulatedBrowserKeys.isBound(id, to: key) else {
            throw Self.reply(403, 109, "key mismatch: the key is not the one that the browser has subscribed with")
        }
        let plaintext = try checkBody(request, id)
        let messageID = UUID().uuidString.lowercased()
        return AcceptedPush(
            device: EmulatedDevice(service: .webPush, id: id),
            messageID: messageID,
            reply: EmulatorReply(
                201,
                [
                    HeaderLine("location", "https://\(request.authority)/message/\(messageID)"),
                    HeaderLine("ttl", "\(min(timeToLive, Self.maximumTimeToLive))"),
                ]
            ),
            collapseKey: request.header("topic"),
            plaintext: plaintext
        )
    }

    func reply(to push: AcceptedPush, _ request: EmulatorRequest, _ fault: FaultScript.MetFault) -> EmulatorReply? {
        switch fault.effect {
        case .dead: Self.reply(410, 106, "the subscription has ended")
        case .malformed: Self.reply(404, 102, "the endpoint is unknown")
        case .throttled(let wait): Self.reply(429, 201, "too many messages", [wait.retryAfter])
        case .unavailable(let wait): Self.reply(503, 201, "the service is unavailable", [wait.retryAfter])
        case .internalError: Self.reply(500, 999, "the service failed")
        case .badCredential: Self.reply(401, 109, "the VAPID token is refused")
        // Apple's reply; Mozilla has none for it.
        case .wrongTopic: EmulatorReply(400, json: ["reason": "VapidPkHashMismatch"])
        case .slow, .goAway, .dropped: nil
        }
    }

    private static func reply(
        _ status: Int,
        _ code: Int,
        _ message: String,
        _ headers: [HeaderLine] = []
    ) -> EmulatorReply {
        EmulatorReply(
            status,
            headers,
            json: [
                "code": JSONText(status), "errno": JSONText(code), "error": JSONText(message),
                "message": JSONText(message),
            ]
        )
    }
}

// MARK: The parts of a request

extension WebPushAnswers {
    /// Returns the time to live in seconds.
    private func checkHeaders(_ request: EmulatorRequest) throws(EmulatorReply) -> Int64 {
        guard let text = request.header("ttl"), text.isDigits, let timeToLive = Int64(text) else {
            throw Self.reply(400, 111, "TTL is missing, or is not a number of seconds")
        }
        if let urgency = request.header("urgency"), !["very-low", "low", "normal", "high"].contains(urgency) {
            throw Self.reply(400, 110, "Urgency is not very-low, low, normal or high")
        }
        if let topic = request.header("topic") {
            let isShort = (1...Self.maximumTopic).contains(topic.utf8.count)
            guard isShort, topic.hasOnlyLettersAndDigits(or: "-_") else {
                throw Self.reply(400, 113, "Topic is not 1 to \(Self.maximumTopic) characters of base64url")
            }
        }
        return timeToLive
    }

    /// Returns the public key of the sender, whose signature is valid.
    private func checkSender(_ request: EmulatorRequest) throws(EmulatorReply) -> [UInt8] {
        guard let text = request.credentials("vapid") else {
            throw Self.reply(401, 109, "an Authorization header with the scheme vapid is missing")
        }
        switch VapidProof.check(text, audience: request.authority, now: request.receivedAt) {
        case .success(let key): return key
        case .failure(let problem): throw Self.reply(problem.isMismatch ? 403 : 401, 109, problem.reason)
        }
    }

    private func checkBody(_ request: EmulatorRequest, _ id: String) throws(EmulatorReply) -> EmulatedDelivery
        .Plaintext?
    {
        guard !request.body.isEmpty else {
            guard request.header("content-encoding") == nil else {
                throw Self.reply(400, 110, "Content-Encoding is sent without a body")
            }
            return nil
        }
        guard request.body.count <= Self.maximumBody else {
            throw Self.reply(413, 104, "the body is larger than \(Self.maximumBody) bytes")
        }
        guard request.header("content-encoding")?.lowercased() == "aes128gcm" else {
            throw Self.reply(400, 110, "Content-Encoding is not aes128gcm")
        }
        guard let content = EncryptedContent(request.body) else {
            throw Self.reply(400, 110, "the body is not one record of aes128gcm with a P-256 key as its key id")
        }
        guard EmulatedBrowserKeys.isOwn(id) else { return nil }
        return content.decrypted(for: browsers.subscription(id)).map { .text($0) } ?? .undecipherable
    }
}
