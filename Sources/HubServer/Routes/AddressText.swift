import Formats

/// Text from a request that is repeated in addresses of the reply.
enum AddressText {
    /// Escapes characters that an address must not contain, and leaves the others as received: clients compare.
    ///
    /// Source: RFC 3986 §3.3, §3.4.
    static func escaped(_ text: some StringProtocol) -> String {
        PercentEncoding.encode(text) { byte in
            PercentEncoding.isUnreserved(byte) || ":/?@!$&'()*+,;=%".utf8.contains(byte)
        }
    }
}
