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
    /// Apple's reasons that concern the sender's token or contact, whatever it is sent to.
    private static let senderReasons: Set<String> = [
        "BadJwtToken", "ExpirationDateOutOfRange", "BadAuthorizationHeader",
    ]
    /// Words of Apple, Mozilla and Google about a subscription that was made with another key.
    private static let keyWords = ["vapidpkhashmismatch", "mismatch", "do not correspond to the credentials"]
    /// Words of a page that Google's service sends, which is about the subscription or the sender.
    private static let pageWords = ["unauthorizedregistration", "notregistered", "vapid"]

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

    /// True if the subscription was made with another key: this says nothing about the sender's other subscriptions.
    var refusesKey: Bool { isRefusal && Self.keyWords.contains { words.contains($0) } }

    /// True if the service does not accept the sender's token or contact; it may mean the subscription's key, unless
    /// ``isCertain``.
    var refusesSender: Bool { isRefusal && !refusesKey }

    /// True if a refusal is about the sender, whatever its key is.
    var isCertain: Bool { reason.map { Self.senderReasons.contains($0) } ?? false }

    private var isRefusal: Bool {
        guard !isOfIntermediary else { return false }
        return switch response.status {
        case 401, 403: true
        case 400: code == 109 || isCertain || Self.keyWords[0] == reason?.lowercased() || bodyNamesSender
        default: false
        }
    }

    /// True if the body names the key: Google's service answers 400 with plain text.
    private var bodyNamesSender: Bool {
        reason == nil && (words.contains("unauthorizedregistration") || words.contains("vapid"))
    }

    /// The beginning of the body in lower case.
    private var words: String { String(decoding: response.body.prefix(1_024), as: UTF8.self).lowercased() }

    private var isOfIntermediary: Bool {
        response.isOfIntermediary && !Self.pageWords.contains { words.contains($0) }
    }

    var outcome: PushOutcome {
        if 200...299 ~= response.status { return accepted }
        if isOfIntermediary { return .retry(after: retryAfter, text) }
        if refusesKey { return .badRoute(text) }
        if refusesSender { return .refusedSender(text) }
        if let outcome = outcomeOfCode { return outcome }
        switch response.status {
        case 404, 410: return .deadHandle(DeadHandle(reason: text))
        case 405: return .badRoute(text)
        case 406: return .throttled(.host, after: retryAfter, text)
        case 408, 425: return .retry(after: retryAfter, text)
        case 413: return .tooLarge(text)
        case 429: return .throttled(.handle, after: retryAfter, text)
        case 400...499: return .badMessage(text)
        default: return .retry(after: retryAfter, text)
        }
    }

    private var accepted: PushOutcome {
        switch response.headers["X-WNS-Status"]?.lowercased() {
        case "dropped": .dropped("'\(host)' dropped it: \(description?.withoutControls ?? "no reason given")")
        case "channelthrottled": .throttled(.handle, after: retryAfter, "'\(host)' throttles the channel")
        default: .accepted(id: id)
        }
    }

    /// The outcome of Mozilla's code, if that says more than the status.
    private var outcomeOfCode: PushOutcome? {
        guard let code, response.status >= 400 else { return nil }
        switch code {
        case 102, 103, 105, 106: return .deadHandle(DeadHandle(reason: text))
        case 104: return .tooLarge(text)
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
        let detail = (reason ?? message ?? plainText ?? description).map { words in
            ": " + words.replacing(path, with: "…").withoutControls.prefix(Self.maximumExcerpt)
        }
        let number = code.map { " (\($0))" } ?? ""
        let clock = refusesSender ? response.clockDifference(now).map { " (\($0))" } ?? "" : ""
        return "'\(host)' answered \(response.status)\(detail ?? "")\(number)\(clock)"
    }

    /// Microsoft's text.
    private var description: String? {
        response.headers["X-WNS-Error-Description"].flatMap { $0.isEmpty ? nil : $0 }
    }

    private var plainText: String? {
        let text = String(decoding: response.body.prefix(4 * Self.maximumExcerpt), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty || text.hasPrefix("<") || text.hasPrefix("{") ? nil : text
    }
}
