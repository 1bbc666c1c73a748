package import HTTPTypes
package import NetworkAddresses

/// A proxy that signs users in and names them in a header.
///
/// Its addresses are a list of their own: a proxy that is trusted to report who its clients are need not remove a header
/// that clients invent. From other addresses the header counts for nothing.
package struct ProxyUsers: Sendable {
    /// The issuer of their identities; no identity provider has it, whose issuer is a URL.
    static let issuer = "proxy"
    /// Bytes of the longest name that a proxy may give.
    static let maximumLength = 256

    private let field: HTTPField.Name
    private let addresses: [AddressBlock]
    private let suffix: NameSuffix

    package init(field: HTTPField.Name, addresses: [AddressBlock], suffix: NameSuffix) {
        self.field = field
        self.addresses = addresses
        self.suffix = suffix
    }

    /// The user that a proxy names; `nil` for a request of somebody else, and for one of a proxy without a user.
    ///
    /// Names that differ in case only are one user: proxies pass on what was typed.
    ///
    /// - Parameters:
    ///   - fields: The headers of the request.
    ///   - peer: The other end of the connection, whatever other headers say.
    /// - Returns: The user with the proxy's name, and a name for their account.
    /// - Throws: 400 for several names, or one that is not a text.
    func user(_ fields: HTTPFields, peer: NetworkAddress?) throws(BackendRefusal) -> ForeignUser? {
        guard let peer, addresses.contains(where: { $0.contains(peer) }) else { return nil }
        let values = fields[values: field]
        guard values.count <= 1 else { throw .badRequest("The request has the header '\(field)' twice.") }
        guard let value = values.first, !value.isEmpty else { return nil }
        // A comma is what a proxy puts between two headers that it joins (RFC 9110 §5.3).
        let isName = value.unicodeScalars.allSatisfy { $0 != "," && $0.properties.generalCategory != .control }
        guard isName, value.utf8.count <= Self.maximumLength else {
            throw .badRequest("The header '\(field)' is not a user's name.")
        }
        let identity = ForeignIdentity(issuer: Self.issuer, subject: value.lowercased())
        return ForeignUser(identity, name: value, suffix: suffix)
    }
}
