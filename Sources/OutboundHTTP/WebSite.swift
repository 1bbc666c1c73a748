/// The server that an address leads to, as requests read the address.
///
/// Whether two addresses are of one server is a question of security, and must not be answered by another parser.
package struct WebSite: Sendable, Hashable {
    /// In small letters and ASCII, numbers as addresses are written; IPv6 in brackets.
    package let host: String

    /// The host, with the port when it is not the scheme's own.
    package let authority: String

    /// - Throws: ``OutboundError/badURL(reason:)`` for what no request could be sent to.
    package init(of url: String) throws(OutboundError) {
        let address = try WebAddress(parsing: url)
        host = address.host
        authority = address.displayHost
    }
}
