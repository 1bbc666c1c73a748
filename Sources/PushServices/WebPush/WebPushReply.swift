import Formats
import Foundation
import HubProtocol
import OutboundHTTP

/// A push service's reply, and what it means for a message.
///
/// Source: RFC 8030 §5; Mozilla, "autopush HTTP endpoints" for `errno`; Apple, "Sending web push notifications in web
/// apps and browsers" for `reason`.
struct WebPushReply: Sendable {
    /// Characters of the service's text in a reason.
    private static let maximumExcerpt = 200
    /// Bytes of the service's id for a message.
    private static let maximumID = 2_048
    /// Apple's reasons that concern the sender's key or token, not the message.
    private static let senderReasons: Set<String> = [
        "VapidPkHashMismatch", "BadJwtToken", "ExpirationDateOutOfRange", "BadAuthorizationHeader",
    ]

    private let response: OutboundResponse
    private let host: String
    private let path: String
    private let retryAfter: Duration?
    private let now: Timestamp
    /// Mozilla's error code.
    private let code: Int64?
    /// Apple's reason.
    private let reason: String?
    private let message: String?

    init(_ response: OutboundResponse, from endpoint: PushEndpoint, retryAfter: Duration?, now: Timestamp) {
        self.response = response
        self.host = endpoint.displayHost
        self.path = endpoint.path
        self.retryAfter = retryAfter
        self.now = now
        let answer = try? JSONReader.read(response.body, allowsRepeats: true)
        code = answer?["errno"]?.integer
        reason = answer?["reason"]?.string
        message = answer?["message"]?.string ?? answer?["error"]?.string
    }

    /// True if the service does not accept the sender's key or token.
    var refusesSender: Bool {
        switch response.status {
        case 401, 403: true
        case 400: code == 109 || reason.map { Self.senderReasons.contains($0) } ?? bodyNamesSender
        default: false
        }
    }

    /// True if the body names the key: Google's service answers 400 with plain text.
    private var bodyNamesSender: Bool {
        let text = String(decoding: response.body.prefix(1_024), as: UTF8.self).lowercased()
        return text.contains("unauthorizedregistration") || text.contains("vapid")
    }

    var outcome: PushOutcome {
        if 200...299 ~= response.status { return .accepted(id: id) }
        if let outcome = outcomeOfCode { return outcome }
        switch response.status {
        case 300...399: return .badRoute("'\(host)' redirects, and the hub does not follow redirects of push services")
        case 401, 403: return .badRoute(text)
        case 404, 410: return .deadHandle(DeadHandle(reason: text))
        case 405: return .badRoute(text)
        case 406: return .throttled(.host, after: retryAfter, text)
        case 408, 425: return .retry(after: retryAfter, text)
        case 429: return .throttled(.handle, after: retryAfter, text)
        case 400...499: return refusesSender ? .badRoute(text) : .badMessage(text)
        default: return .retry(after: retryAfter, text)
        }
    }

    /// The outcome of Mozilla's code, if that says more than the status.
    private var outcomeOfCode: PushOutcome? {
        guard let code, response.status >= 400 else { return nil }
        switch code {
        case 102, 103, 105, 106: return .deadHandle(DeadHandle(reason: text))
        case 104: return .badMessage(text)
        case 109: return .badRoute(text)
        case 110...114: return .badMessage(text)
        case 201 where response.status != 429, 202: return .retry(after: retryAfter, text)
        // 999 is any other error.
        case 900..<999 where response.status != 404 && response.status != 410:
            return .retry(after: retryAfter, text)
        default: return nil
        }
    }

    private var id: String? {
        guard let location = response.headers["Location"], !location.isEmpty, location.utf8.count <= Self.maximumID
        else { return nil }
        return location.withoutControls
    }

    /// One line without the subscription's secret path, with an excerpt of the reply at most.
    var text: String {
        let detail = (reason ?? message ?? plainText).map { words in
            ": " + words.replacing(path, with: "…").withoutControls.prefix(Self.maximumExcerpt)
        }
        let number = code.map { " (\($0))" } ?? ""
        let clock = refusesSender ? response.clockDifference(now).map { " (\($0))" } ?? "" : ""
        return "'\(host)' answered \(response.status)\(detail ?? "")\(number)\(clock)"
    }

    private var plainText: String? {
        let text = String(decoding: response.body.prefix(4 * Self.maximumExcerpt), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty || text.hasPrefix("<") || text.hasPrefix("{") ? nil : text
    }
}
