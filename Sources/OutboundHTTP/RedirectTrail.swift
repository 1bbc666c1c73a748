/// The hops of one request: address, method, headers and body of the next one.
///
/// Source: RFC 9110 §15.4.
struct RedirectTrail {
    private(set) var address: WebAddress
    private(set) var method: String
    private(set) var headers: [OutboundHeaders.Field]
    private(set) var body: [UInt8]?
    private(set) var addresses: AddressPolicy

    /// The end of the leading run of permanent steps.
    private(set) var movedPermanentlyTo: WebAddress?

    private let start: WebAddress
    private var cookies: RedirectCookies?
    private let limit: Int
    private let redirectAddresses: AddressPolicy
    /// True if the next hop may lead to any port of the first host: no other host has answered.
    private var trustsHost: Bool
    private var steps = 0
    private var isLeadingRun = true

    /// Makes the first hop; `headers` are all headers of the request.
    init(_ request: OutboundRequest, _ headers: [OutboundHeaders.Field], to start: WebAddress) {
        self.start = start
        self.cookies = request.keepsCookies ? RedirectCookies() : nil
        self.address = start
        self.method = request.method
        self.headers = headers
        self.body = request.body
        self.addresses = request.addresses
        self.redirectAddresses = request.redirectAddresses
        self.trustsHost = request.trustsHost
        self.limit = request.maximumRedirects
    }

    /// True if the next hop goes to the first origin.
    var isAtHome: Bool { start.sharesCredentials(with: address) }

    /// The headers of the next hop; cookies are sent to the origin that set them.
    var headersWithCookies: [OutboundHeaders.Field] {
        guard let text = cookies?.text(for: address) else { return headers }
        let given = headers.first { $0.name.isEqualIgnoringCase(to: "Cookie") }?.value
        let all = [given, text].compactMap(\.self).joined(separator: "; ")
        return headers.filter { !$0.name.isEqualIgnoringCase(to: "Cookie") }
            + [OutboundHeaders.Field(name: "Cookie", value: all)]
    }

    static func isRedirect(_ head: ReplyHead) -> Bool {
        [301, 302, 303, 307, 308].contains(head.status) && head.headers["Location"]?.isEmpty == false
    }

    /// Follows a redirect.
    ///
    /// 301 and 302 change POST to GET, as browsers do; 303 changes every method except HEAD; 307 and 308 keep method and
    /// body. A redirect to another origin drops user information and every header that may be secret.
    mutating func follow(_ head: ReplyHead) throws(OutboundError) {
        guard steps < limit else { throw .tooManyRedirects(host: address.displayHost, limit: limit) }
        steps += 1
        cookies?.take(head.headers, from: address)
        let target: WebAddress
        do {
            target = try address.resolving(head.headers["Location"] ?? "")
        } catch .badURL(let reason) {
            throw .badURL(reason: "'\(address.displayHost)' redirects to an unusable address: \(reason)")
        }
        let status = head.status
        if (status == 303 && method != "HEAD") || ((status == 301 || status == 302) && method == "POST") {
            method = "GET"
            body = nil
            headers.removeAll { field in Self.contentHeaders.contains(field.name.lowercased()) }
        }
        if address.sharesCredentials(with: target) {
            address = target.with(user: address.user, password: address.password)
        } else {
            headers.removeAll { field in !Self.harmlessHeaders.contains(field.name.lowercased()) }
            trustsHost = trustsHost && address.bareHost == target.bareHost
            address = target
            if !trustsHost { addresses = redirectAddresses }
        }
        isLeadingRun = isLeadingRun && (status == 301 || status == 308)
        if isLeadingRun { movedPermanentlyTo = address }
    }

    private static let contentHeaders: Set<String> = [
        "content-type", "content-encoding", "content-language", "content-location", "content-length",
    ]

    /// Headers that may be sent to another origin; any other header may be a credential.
    private static let harmlessHeaders: Set<String> = contentHeaders.union([
        "accept", "accept-encoding", "accept-language", "a-im", "cache-control", "if-modified-since", "if-none-match",
        "user-agent",
    ])
}
