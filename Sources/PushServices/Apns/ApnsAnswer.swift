import Formats
import HubProtocol
import OutboundHTTP

/// An answer of APNs.
struct ApnsAnswer: Sendable {
    /// The action that an answer calls for.
    enum Verdict: Equatable {
        case final(PushOutcome)
        /// The provider token is too old.
        case renewToken
        /// The connection can no longer be used, and the request was not processed.
        case reconnect(PushOutcome)
    }

    let status: Int
    /// Empty if there is none.
    let reason: String
    /// Time since which a token is dead.
    let since: Timestamp?
    let id: String?
    private let retryAfter: Duration?
    private let isOfIntermediary: Bool

    init(_ response: OutboundResponse, retryAfter: Duration?) {
        status = response.status
        // Most answers have none.
        let body = response.body.isEmpty ? nil : try? JSONReader.read(response.body, allowsRepeats: true)
        reason = String((body?["reason"]?.string ?? "").withoutControls.prefix(100))
        since = body?["timestamp"]?.integer.map { Timestamp(milliseconds: $0) }
        id = response.headers.first("apns-id")
        self.retryAfter = retryAfter
        isOfIntermediary = response.isOfIntermediary
    }

    /// APNs' reason, or the status if there is none.
    private var word: String { reason.isEmpty ? "APNs answered \(status)" : "APNs: \(reason)" }

    /// Decides what the answer means; `isOwnTopic` is true if the topic is the bundle id itself.
    func verdict(isOwnTopic: Bool) -> Verdict {
        switch (status, reason) {
        case _ where isOfIntermediary: .final(.retry(after: retryAfter, word))
        case (200, _): .final(.accepted(id: id))
        case (400, "IdleTimeout"): .reconnect(.retry(after: nil, word))
        case (400, "BadDeviceToken"): .final(.deadHandle(DeadHandle(isCertain: false, reason: word)))
        case (400, "DeviceTokenNotForTopic"): .final(.badRoute(word))
        case (400, "BadTopic"), (400, "MissingTopic"), (400, "TopicDisallowed"):
            .final(isOwnTopic ? .refusedCredential(word) : .badMessage(word))
        case (403, "ExpiredProviderToken"): .renewToken
        case (403, "UnrelatedKeyIdInToken"): .reconnect(.refusedCredential(word))
        case (410, _): .final(.deadHandle(DeadHandle(since: since, reason: word)))
        case (413, _): .final(.tooLarge(word))
        case (429, "TooManyProviderTokenUpdates"):
            .final(.throttled(.credential, after: max(retryAfter ?? .zero, .seconds(60)), word))
        case (429, _): .final(.throttled(.handle, after: retryAfter, word))
        case (503, "Shutdown"), (503, "ServiceUnavailable"): .final(.retry(after: retryAfter, word))
        case (500..., _), (408, _), (425, _): .final(.retry(after: retryAfter, word))
        case (401, _), (403, _): .final(.refusedCredential(word))
        default: .final(.badMessage(word))
        }
    }
}
