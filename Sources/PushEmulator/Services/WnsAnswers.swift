import Formats
import Foundation
import HubProtocol
import Markup

/// Answers of the Windows Push Notification Services.
///
/// Source: Microsoft, "Push Notification Service request and response headers".
struct WnsAnswers: PushAnswers {
    private static let maximumPayload = 5_000
    private static let maximumTag = 16

    let isTokenValid: @Sendable (Substring, Timestamp) -> Bool

    func check(_ request: EmulatorRequest) throws(EmulatorReply) -> AcceptedPush {
        guard request.method == "POST" else { throw Self.refusal(405, "The method is not allowed.", request) }
        let id = String(request.path.dropFirst(EmulatedDevice.channelPath.count))
        guard !id.isEmpty, !id.contains("/") else { throw Self.refusal(404, "The channel is unknown.", request) }
        guard let token = request.credentials("bearer"), isTokenValid(token, request.receivedAt) else {
            throw Self.unauthorized(request)
        }
        let type = try checkHeaders(request)
        guard request.body.count <= Self.maximumPayload else {
            throw Self.refusal(413, "The payload is larger than \(Self.maximumPayload) bytes.", request)
        }
        guard !request.body.isEmpty else { throw Self.refusal(400, "The payload is empty.", request) }
        if type != "wns/raw", let fault = Self.fault(in: request.body) {
            throw Self.refusal(400, "The payload is not valid XML: \(fault).", request)
        }
        let messageID = String(UInt64.random(in: .min ... .max), radix: 16, uppercase: true)
        return AcceptedPush(
            device: EmulatedDevice(service: .wns, id: id),
            messageID: messageID,
            reply: Self.reply(request, messageID, status: "received"),
            collapseKey: request.header("x-wns-tag").map { "\(type) \(request.header("x-wns-group") ?? "") \($0)" }
        )
    }

    func reply(to push: AcceptedPush, _ request: EmulatorRequest, _ fault: FaultScript.MetFault) -> EmulatorReply? {
        switch fault.effect {
        case .dead: Self.refusal(410, "The channel expired.", request)
        case .malformed: Self.refusal(404, "The channel is unknown.", request)
        case .throttled(let wait):
            fault.isWholeService
                ? Self.refusal(406, "The throttle limit is exceeded.", request, [wait.retryAfter])
                : Self.reply(request, push.messageID, status: "channelthrottled")
        case .unavailable(let wait):
            Self.refusal(503, "The service is unavailable.", request, [wait.retryAfter])
        case .internalError: Self.refusal(500, "The service failed.", request)
        case .badCredential: Self.unauthorized(request)
        case .wrongTopic: Self.refusal(403, "The channel is not of the token's app.", request)
        case .dropped: Self.reply(request, push.messageID, status: "dropped")
        case .slow, .goAway: nil
        }
    }

    /// The kind of notification.
    private func checkHeaders(_ request: EmulatorRequest) throws(EmulatorReply) -> String {
        guard request.header("transfer-encoding") == nil else {
            throw Self.refusal(400, "Transfer-Encoding: chunked is not supported.", request)
        }
        guard let type = request.header("x-wns-type"),
            ["wns/toast", "wns/tile", "wns/badge", "wns/raw"].contains(type)
        else { throw Self.refusal(400, "X-WNS-Type is missing or unknown.", request) }
        let media = type == "wns/raw" ? "application/octet-stream" : "text/xml"
        guard request.mediaType == media else {
            throw Self.refusal(400, "Content-Type is not \(media), as \(type) needs.", request)
        }
        if let policy = request.header("x-wns-cache-policy"), !["cache", "no-cache"].contains(policy.lowercased()) {
            throw Self.refusal(400, "X-WNS-Cache-Policy is invalid.", request)
        }
        if let time = request.header("x-wns-ttl") {
            guard time.isDigits, Int64(time) != nil else {
                throw Self.refusal(400, "X-WNS-TTL is invalid.", request)
            }
        }
        for name in ["x-wns-tag", "x-wns-group"] {
            guard let tag = request.header(name) else { continue }
            let isShort = (1...Self.maximumTag).contains(tag.utf8.count)
            guard isShort, tag.hasOnlyLettersAndDigits() else {
                throw Self.refusal(400, "\(name) is not 1 to \(Self.maximumTag) letters and digits.", request)
            }
        }
        return type
    }

    /// The reason why a payload is not well-formed XML in UTF-8; `nil` if it is.
    ///
    /// A declaration of another encoding is a fault (XML 1.0 §4.3.3).
    private static func fault(in body: [UInt8]) -> String? {
        guard let text = String(validating: body, as: UTF8.self) else { return "it is not UTF-8" }
        let content = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        do throws(XMLSyntaxError) {
            try XMLWellFormedness.check(content)
        } catch {
            // Header values are ASCII.
            return String(String.UnicodeScalarView(error.description.unicodeScalars.filter { $0.isASCII }))
        }
        let declaration = content.hasPrefix("<?xml") ? content.prefix { $0 != ">" }.lowercased() : ""
        guard declaration.contains("encoding"), !declaration.contains("utf-8") else { return nil }
        return "it declares another encoding than UTF-8"
    }

    private static func unauthorized(_ request: EmulatorRequest) -> EmulatorReply {
        let challenge = HeaderLine("www-authenticate", "Bearer error=\"invalid_token\"")
        return refusal(401, "The access token is invalid or has expired.", request, [challenge])
    }

    private static func refusal(
        _ status: Int,
        _ description: String,
        _ request: EmulatorRequest,
        _ headers: [HeaderLine] = []
    ) -> EmulatorReply {
        EmulatorReply(
            status,
            headers + [
                HeaderLine("x-wns-error-description", description), HeaderLine("x-wns-debug-trace", "EMULATOR"),
            ] + echoed(request)
        )
    }

    private static func reply(_ request: EmulatorRequest, _ messageID: String, status: String) -> EmulatorReply {
        var headers = [
            HeaderLine("x-wns-status", status), HeaderLine("x-wns-msg-id", messageID),
            HeaderLine("x-wns-debug-trace", "EMULATOR"),
        ]
        if request.header("x-wns-requestforstatus")?.lowercased() == "true" {
            let connection = status == "dropped" ? "disconnected" : "connected"
            headers.append(HeaderLine("x-wns-deviceconnectionstatus", connection))
        }
        return EmulatorReply(200, headers + echoed(request))
    }

    private static func echoed(_ request: EmulatorRequest) -> [HeaderLine] {
        request.header("ms-cv").map { [HeaderLine("ms-cv", $0)] } ?? []
    }
}
