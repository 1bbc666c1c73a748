/// One request and all the bounds under which it may run.
///
/// The defaults suit an address that a stranger gave us: public addresses only, a few redirects, a minute in all.
package struct OutboundRequest: Sendable {
    /// Sent as written; a token of RFC 9110 §5.6.2, in capitals for the known methods.
    package var method: String

    /// An absolute `http` or `https` address.
    ///
    /// User information in it becomes Basic credentials and is kept out of every reply and message. `file` is taken
    /// with ``allowsFile`` only.
    package var url: String

    /// Sent in this order; values without CR, LF and NUL.
    ///
    /// To another origin only those travel that carry no secret (``RedirectTrail``).
    package var headers: [(name: String, value: String)]

    /// Sent after ``headers``, octet for octet: what this server gave and wants back, `ETag` above all.
    package var echoes: [OutboundHeaders.Field] = []

    package var body: [UInt8]?

    /// Name resolution, TCP and TLS together, for one hop.
    package var connectTimeout: Duration

    /// From the call to the last byte, redirects and the wait for a free connection included.
    ///
    /// `nil`: no bound, for streams.
    package var totalTimeout: Duration?

    /// The longest silence of a connected peer, which includes the wait for its first byte.
    ///
    /// The time in which the reader of a stream is not ready does not count. `nil`: no bound.
    package var idleTimeout: Duration?

    /// Bytes of the body after decompression, checked while it is decompressed.
    ///
    /// A stream has no such bound.
    package var maximumBodyBytes: Int

    /// Hops after the first.
    ///
    /// `0` follows none: the redirect itself is the reply.
    package var maximumRedirects: Int

    /// Where the first hop and redirects within its origin may connect to.
    package var addresses: AddressPolicy

    /// Where redirects to another origin may connect to.
    ///
    /// Public addresses only, whatever ``addresses`` says, unless set: who answers at a private address must not choose
    /// another one for us.
    package var redirectAddresses: AddressPolicy

    /// A PEM file in place of the system's authorities, and of the client's.
    package var certificateAuthorities: String?

    /// Uses no connection that is there already.
    package var opensConnection = false

    /// Accepts `file:` in ``url``; a redirect never leads to a file.
    package var allowsFile: Bool

    package init(
        method: String = "GET",
        url: String,
        headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil,
        connectTimeout: Duration = .seconds(10),
        totalTimeout: Duration? = .seconds(60),
        idleTimeout: Duration? = .seconds(30),
        maximumBodyBytes: Int = 16 * 1_048_576,
        maximumRedirects: Int = 5,
        addresses: AddressPolicy = .publicOnly,
        redirectAddresses: AddressPolicy = .publicOnly,
        allowsFile: Bool = false
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.connectTimeout = connectTimeout
        self.totalTimeout = totalTimeout
        self.idleTimeout = idleTimeout
        self.maximumBodyBytes = maximumBodyBytes
        self.maximumRedirects = maximumRedirects
        self.addresses = addresses
        self.redirectAddresses = redirectAddresses
        self.allowsFile = allowsFile
    }
}
