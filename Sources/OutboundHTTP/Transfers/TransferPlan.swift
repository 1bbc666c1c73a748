/// The request of one hop with its limits.
struct TransferPlan: Sendable {
    var method: String
    var address: WebAddress
    var headers: [OutboundHeaders.Field]
    var body: [UInt8]?
    var userAgent: String
    var certificateAuthorities: String?
    var clientCertificate: ClientCertificate?
    var opensConnection = false

    /// URL of the proxy; `nil` for a direct connection.
    var proxy: String?
    var addresses: AddressPolicy
    var connectTimeout: Duration
    var totalTimeout: Duration?
    var deadline: ContinuousClock.Instant?
    var idleTimeout: Duration?
    var delivery: Delivery

    /// True if the body of a redirect is discarded.
    var followsRedirects: Bool

    enum Delivery: Sendable {
        /// The body is collected, up to a number of bytes.
        case whole(limit: Int)

        /// The body is passed on as it arrives; reading stops while more than ``Transfer/maximumBufferedBytes`` are
        /// buffered.
        case stream
    }

    var isStream: Bool {
        if case .stream = delivery { true } else { false }
    }

    /// - Throws: ``OutboundError/badRequest(reason:)`` for a method or header that would break the request.
    static func check(_ method: String, _ headers: [OutboundHeaders.Field]) throws(OutboundError) {
        guard isToken(method) else { throw .badRequest(reason: "the method is not a token") }
        for field in headers {
            guard isToken(field.name) else { throw .badRequest(reason: "a header's name is not a token") }
            guard !field.bytes.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) else {
                throw .badRequest(reason: "the header '\(field.name)' has a line break or NUL in its value")
            }
        }
    }

    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
