internal import FeedLists
internal import FoundationEssentials
internal import OutboundHTTP
internal import WebEdge

/// Requests subscriptions from hubs.
///
/// Source: WebSub §5.1.
struct WebSubClient: Sendable {
    enum Answer: Sendable, Equatable {
        /// The hub will verify the request.
        case accepted
        case refused(String, retryAfter: Duration?)
        /// The request was cancelled; its result is unknown.
        case cancelled
    }

    private static let timeout: Duration = .seconds(30)
    private static let maximumReplyBytes = 65_536
    private static let maximumRedirects = 3
    /// Maximum number of characters of a hub's reason, for people.
    private static let reasonLimit = 200

    let http: OutboundClient
    /// Addresses that hubs may have: public ones, because documents name them (feeds.md §10); tests use this machine.
    let addresses: AddressPolicy
    let now: @Sendable () -> Date

    func ask(_ hub: String, _ form: FormFields) async -> Answer {
        var address = hub
        for _ in 0...Self.maximumRedirects {
            let response: OutboundResponse
            do {
                response = try await http.send(request(address, form))
            } catch {
                if case .cancelled = error { return .cancelled }
                return .refused("\(error)", retryAfter: nil)
            }
            switch response.status {
            case 200..<300:
                return .accepted
            case 307, 308:
                guard let target = target(of: response, from: address) else {
                    return .refused("it redirects to an unusable address", retryAfter: nil)
                }
                address = target
            default:
                let retryAfter = response.headers.retryAfter(now: Int64(now().timeIntervalSince1970))
                return .refused(Self.reason(response), retryAfter: retryAfter)
            }
        }
        return .refused("it redirects more than \(Self.maximumRedirects) times", retryAfter: nil)
    }

    /// Creates a request that follows no redirects: the form contains a secret, which must not be sent without TLS.
    private func request(_ address: String, _ form: FormFields) -> OutboundRequest {
        OutboundRequest(
            method: "POST",
            url: address,
            headers: [(name: "Content-Type", value: FormFields.contentType)],
            body: Array(form.text.utf8),
            totalTimeout: Self.timeout,
            maximumBodyBytes: Self.maximumReplyBytes,
            maximumRedirects: 0,
            addresses: addresses,
            redirectAddresses: addresses
        )
    }

    private func target(of response: OutboundResponse, from address: String) -> String? {
        guard let location = response.headers["Location"],
            let target = URL(string: location, relativeTo: URL(string: address))?.absoluteString,
            (try? FeedAddress(parsing: target, allowsFile: false)) != nil
        else { return nil }
        let isDowngrade = address.lowercased().hasPrefix("https:") && !target.lowercased().hasPrefix("https:")
        return isDowngrade ? nil : target
    }

    private static func reason(_ response: OutboundResponse) -> String {
        let text = String(decoding: response.body.prefix(reasonLimit), as: UTF8.self)
        let line = text.split(whereSeparator: \.isNewline).first.map { ": \($0)" } ?? ""
        return "it answered \(response.status)\(text.contains("<") ? "" : line)"
    }
}
