import Formats

/// The options of a libcurl handle that rarely change.
///
/// A further transfer with the same options sets only its URL, headers and body: setting every option would take a
/// third of the time of a request.
struct HandleOptions: Sendable, Equatable {
    let method: String
    let hasBody: Bool
    let scheme: String
    let user: String?
    let password: String?
    let userAgent: String
    let authorities: TrustedAuthorities
    /// The hash of the public key that the host must have, instead of a certificate of an authority.
    let publicKeyHash: [UInt8]?
    /// True if libcurl decodes the body.
    let decodesBody: Bool
    let clientCertificate: ClientCertificate?
    let opensConnection: Bool
    /// URL of the proxy; `nil` for a direct connection.
    let proxy: String?
    let connectTimeout: Duration
    let isStream: Bool
}

/// The request of one hop with its limits, or the part that the requests of a batch have in common.
final class TransferPlan: Sendable {
    let options: HandleOptions
    let address: WebAddress
    let headers: [OutboundHeaders.Field]
    let body: [UInt8]?
    let addresses: AddressPolicy
    let totalTimeout: Duration?
    /// Time by which the request must have its reply, or its place on a connection if there is a ``streamTimeout``.
    let deadline: ContinuousClock.Instant?
    /// Time for the request from its place on a connection on; `nil` if ``deadline`` counts.
    let streamTimeout: Duration?
    private let queueTimeout: Duration?
    let idleTimeout: Duration?
    /// Time without an acknowledgement after which the kernel ends a connection.
    let lossPatience: Duration
    let delivery: Delivery

    /// True if the body of a redirect is discarded.
    let followsRedirects: Bool

    enum Delivery: Sendable {
        /// The body is collected, up to a number of bytes; a longer one is an error unless its beginning is enough.
        case whole(limit: Int, keepsStart: Bool)

        /// The body is passed on as it arrives; reading stops while more than ``Transfer/maximumBufferedBytes`` are
        /// buffered.
        case stream

        var isStream: Bool { if case .stream = self { true } else { false } }
    }

    init(
        _ request: OutboundRequest,
        _ trail: RedirectTrail,
        _ delivery: Delivery,
        deadline: ContinuousClock.Instant?,
        lossPatience: Duration,
        proxy: String?,
        userAgent: String,
        authorities: TrustedAuthorities,
        clientCertificate: ClientCertificate?
    ) {
        let own = trail.isAtHome ? request.certificateAuthorities : nil
        options = HandleOptions(
            method: trail.method,
            hasBody: trail.body != nil,
            scheme: trail.address.scheme,
            user: trail.address.user,
            password: trail.address.password,
            userAgent: trail.isAtHome ? request.userAgent ?? userAgent : userAgent,
            authorities: own.map(TrustedAuthorities.init(only:)) ?? authorities,
            publicKeyHash: trail.isAtHome ? request.publicKeyHash : nil,
            decodesBody: !request.keepsGzip,
            clientCertificate: clientCertificate,
            opensConnection: request.opensConnection,
            proxy: proxy,
            connectTimeout: request.connectTimeout,
            isStream: delivery.isStream
        )
        address = trail.address
        headers = trail.headersWithCookies
        body = trail.body
        addresses = trail.addresses
        totalTimeout = request.totalTimeout
        self.deadline = deadline
        self.lossPatience = lossPatience
        queueTimeout = request.queueTimeout
        streamTimeout = request.queueTimeout == nil ? nil : request.totalTimeout
        idleTimeout = request.idleTimeout
        self.delivery = delivery
        followsRedirects = request.maximumRedirects > 0
    }

    /// Time that the request may wait for a place on a connection.
    var waitLimit: Duration { queueTimeout ?? totalTimeout ?? .zero }

    /// - Throws: ``OutboundError/badRequest(reason:)`` for a method or header that would break the request.
    static func check(_ method: String, _ headers: [OutboundHeaders.Field]) throws(OutboundError) {
        guard isToken(method) else { throw .badRequest(reason: "the method is not a token") }
        for field in headers { try check(field.name, field.bytes) }
    }

    /// Checks the path and the headers of a target; a path that is not plain ASCII could change more than the path.
    static func check(_ target: OutboundTarget) throws(OutboundError) {
        guard WebAddress.isPlain(target.path) else { throw .badURL(reason: "its path is not plain ASCII") }
        for (name, value) in target.headers { try check(name, value.utf8) }
    }

    private static func check(_ name: String, _ value: some Sequence<UInt8>) throws(OutboundError) {
        guard isToken(name) else { throw .badRequest(reason: "a header's name is not a token") }
        guard !value.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) else {
            throw .badRequest(reason: "the header '\(name)' has a line break or NUL in its value")
        }
    }

    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.hasOnlyLettersAndDigits(or: "!#$%&'*+-.^_`|~")
    }
}
