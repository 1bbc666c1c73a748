import OutboundHTTP

/// WNS' reply to a notification.
///
/// Source: Microsoft, "Push Notification Service request and response headers", response codes.
struct WnsReply {
    private let status: Int
    private let notificationStatus: String?
    private let messageID: String?
    private let description: String
    private let connection: String?
    private let retryAfter: Duration?
    private let isOfIntermediary: Bool

    /// Reads a reply; `retryAfter` is the wait that it asks for.
    init(_ response: OutboundResponse, retryAfter: Duration?) {
        status = response.status
        notificationStatus = response.headers.first("X-WNS-Status")?.lowercased()
        messageID = response.headers.first("X-WNS-Msg-ID").map { String($0.withoutControls.prefix(200)) }
        connection = response.headers.first("X-WNS-DeviceConnectionStatus")?.lowercased()
        let text = response.headers.first("X-WNS-Error-Description") ?? String(decoding: response.body, as: UTF8.self)
        description = String(text.withoutControls.prefix(200))
        self.retryAfter = retryAfter
        isOfIntermediary = response.isOfIntermediary
    }

    var verdict: AccessTokens.Verdict {
        if isOfIntermediary { return .outcome(.retry(after: retryAfter, reason)) }
        if status == 401 { return .staleToken(reason) }
        return .outcome(outcome)
    }

    private var outcome: PushOutcome {
        switch status {
        case 200...299: accepted
        case 403: .badRoute("the channel belongs to another app: \(reason)")
        case 404: .deadHandle(DeadHandle(reason: reason))
        // The quota of the app; WNS reports a channel's quota with 200.
        case 406, 429: .throttled(.credential, after: retryAfter, reason)
        case 410: isDomainBlocked ? .refusedCredential(reason) : .deadHandle(DeadHandle(reason: reason))
        case 413: .tooLarge(reason)
        case 408, 500...599: .retry(after: retryAfter, reason)
        case 400..<500: .badMessage(reason)
        // WNS does not send this status, but a proxy may.
        default: .retry(after: retryAfter, reason)
        }
    }

    private var accepted: PushOutcome {
        switch notificationStatus {
        case "dropped":
            .dropped("WNS dropped it: \(connection == "disconnected" ? "the device is not connected" : dropReason)")
        case "channelthrottled": .throttled(.handle, after: retryAfter, "WNS throttles the channel")
        default: .accepted(id: messageID)
        }
    }

    /// True if WNS blocks the sender, which it reports with the status of an expired channel.
    private var isDomainBlocked: Bool {
        let text = description.lowercased()
        return text.contains("domain") || text.contains("blocked")
    }

    private var reason: String { "WNS answered \(status)\(description.isEmpty ? "" : ": \(description)")" }

    private var dropReason: String { description.isEmpty ? "no reason given" : description }
}
