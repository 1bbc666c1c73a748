/// The hops of one request: what the next one sends, and to whom.
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

    private let limit: Int
    private let redirectAddresses: AddressPolicy
    private var steps = 0
    private var isLeadingRun = true

    /// `headers` are all of the request's, and `start` is its address.
    init(_ request: OutboundRequest, _ headers: [OutboundHeaders.Field], to start: WebAddress) {
        self.address = start
        self.method = request.method
        self.headers = headers
        self.body = request.body
        self.addresses = request.addresses
        self.redirectAddresses = request.redirectAddresses
        self.limit = request.maximumRedirects
    }

    static func isRedirect(_ head: ReplyHead) -> Bool {
        [301, 302, 303, 307, 308].contains(head.status) && head.headers["Location"]?.isEmpty == false
    }

    /// Takes one step.
    ///
    /// 301 and 302 turn POST into GET as every browser does, 303 all but HEAD; 307 and 308 keep method and body.
    /// Leaving the origin drops user information and every header that might hold a secret.
    mutating func follow(_ head: ReplyHead) throws(OutboundError) {
        guard steps < limit else { throw .tooManyRedirects(host: address.displayHost, limit: limit) }
        steps += 1
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
            address = target
            addresses = redirectAddresses
        }
        isLeadingRun = isLeadingRun && (status == 301 || status == 308)
        if isLeadingRun { movedPermanentlyTo = address }
    }

    private static let contentHeaders: Set<String> = [
        "content-type", "content-encoding", "content-language", "content-location", "content-length",
    ]

    /// What may go to an origin that the request did not name.
    ///
    /// Everything else may be a credential.
    private static let harmlessHeaders: Set<String> = contentHeaders.union([
        "accept", "accept-encoding", "accept-language", "a-im", "cache-control", "if-modified-since", "if-none-match",
        "user-agent",
    ])
}
