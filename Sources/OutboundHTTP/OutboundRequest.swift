/// A request and its limits.
///
/// The defaults suit a URL from an untrusted source: public addresses only, a few redirects, one minute in all.
package struct OutboundRequest: Sendable {
    /// The method as sent: a token (RFC 9110 §5.6.2), in upper case for the standard methods.
    package var method: String

    /// An absolute `http` or `https` URL; `file` needs ``allowsFile``.
    ///
    /// User information is sent as Basic credentials; replies and errors never contain it.
    package var url: String

    /// Headers in the order in which they are sent; values cannot contain CR, LF and NUL.
    ///
    /// After a redirect to another origin, only headers that cannot be secret are sent (``RedirectTrail``).
    package var headers: [(name: String, value: String)]

    /// Values that this server sent earlier, such as an `ETag`; they are sent after ``headers``, byte for byte.
    package var echoes: [OutboundHeaders.Field] = []

    package var body: [UInt8]?

    /// Time for name resolution, TCP and TLS together, for one hop.
    package var connectTimeout: Duration

    /// Time from the call to the last byte, including redirects and the wait for a free connection.
    ///
    /// `nil` sets no limit, for streams.
    package var totalTimeout: Duration?

    /// Time to wait for a place on a connection, after which ``totalTimeout`` begins; redirects share neither.
    ///
    /// `nil` counts the wait as part of ``totalTimeout``. A request that gets no place in time was not sent.
    package var queueTimeout: Duration?

    /// The longest silence of a connected peer, including the wait for its first byte.
    ///
    /// The time for which the reader of a stream is not ready does not count. `nil` sets no limit.
    package var idleTimeout: Duration?

    /// The largest body in bytes after decompression, checked during decompression.
    ///
    /// A stream has no such limit.
    package var maximumBodyBytes: Int

    /// True to keep the beginning of a longer body, instead of an error: the status is what matters.
    package var keepsStart = false

    /// Number of redirects to follow; with 0 the redirect itself is the reply.
    package var maximumRedirects: Int

    /// Addresses allowed for the first hop and for redirects within its origin.
    package var addresses: AddressPolicy

    /// Addresses allowed for redirects to another origin.
    ///
    /// Public addresses only unless set, even if ``addresses`` allows others: a host at a private address must not
    /// redirect us to another private address.
    package var redirectAddresses: AddressPolicy

    /// True if redirects to another port or scheme of the first host may lead to ``addresses``, as long as no other
    /// host has answered in between.
    package var trustsHost = false

    /// A PEM file with authorities to trust instead of the client's, for the first origin only.
    package var certificateAuthorities: String?

    /// SHA-256 of the public key (`SubjectPublicKeyInfo`) that the first origin must have; its certificate then needs no
    /// authority, and may have any name.
    package var publicKeyHash: [UInt8]?

    /// The `User-Agent` for the first origin instead of the client's.
    package var userAgent: String?

    /// True to send cookies back that an origin sets during redirects; they are forgotten after the reply.
    package var keepsCookies = false

    /// True to accept gzip only, and to leave its decoding to the caller.
    ///
    /// libcurl refuses replies with a coding that does not exist, and drops all but the first member of a gzip file.
    package var keepsGzip = false

    /// True to open a new connection.
    package var opensConnection = false

    /// True if ``url`` may be a `file:` URL; redirects to files are never followed.
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

/// The part of a request that differs from the other requests of a batch.
package struct OutboundTarget: Sendable {
    /// Text after the URL that all have in common: letters, digits, `-`, `_`, `/` and `:`.
    package let path: String
    /// Headers in addition to those that all have in common.
    package let headers: [(name: String, value: String)]

    package init(path: String, headers: [(name: String, value: String)] = []) {
        self.path = path
        self.headers = headers
    }
}
