package import HTTPTypes
package import NetworkAddresses

/// A proxy that signs users in and names them in a header.
///
/// Its addresses are a separate list: a proxy that is trusted to report its clients' addresses does not necessarily
/// remove this header from clients' requests. The header is ignored from all other addresses.
package struct ProxyUsers: Sendable {
    /// The issuer of these identities; an identity provider cannot have it, since its issuer is a URL.
    static let issuer = "proxy"
    /// The longest name that a proxy may give, in bytes.
    static let maximumLength = 256

    private let field: HTTPField.Name
    private let addresses: [AddressBlock]
    private let suffix: NameSuffix

    package init(field: HTTPField.Name, addresses: [AddressBlock], suffix: NameSuffix) {
        self.field = field
        self.addresses = addresses
        self.suffix = suffix
    }

    /// The user that a proxy names; `nil` for a request from elsewhere, or from a proxy without a user.
    ///
    /// Names are case-insensitive: proxies pass on what the user typed.
    ///
    /// - Parameters:
    ///   - fields: The headers of the request.
    ///   - peer: The other end of the connection, regardless of headers.
    /// - Returns: The user with the proxy's name, and a name for the account.
    /// - Throws: 400 for several names, or one that is too long or has a comma or a control character.
    func user(_ fields: HTTPFields, peer: NetworkAddress?) throws(BackendRefusal) -> ForeignUser? {
        guard let peer, addresses.contains(where: { $0.contains(peer) }) else { return nil }
        let values = fields[values: field]
        guard values.count <= 1 else { throw .badRequest("The request has the header '\(field)' twice.") }
        guard let value = values.first, !value.isEmpty else { return nil }
        // Proxies that join two headers put a comma between them (RFC 9110 §5.3).
        let isName = value.unicodeScalars.allSatisfy { $0 != "," && $0.properties.generalCategory != .control }
        guard isName, value.utf8.count <= Self.maximumLength else {
            throw .badRequest("The header '\(field)' is not a valid user name.")
        }
        let identity = ForeignIdentity(issuer: Self.issuer, subject: value.lowercased())
        return ForeignUser(identity, name: value, suffix: suffix)
    }
}
