import Formats

/// An access rule of a hub with the times in its description.
package struct AuthorizationRule: Sendable, Equatable {
    package let rule: AccessRule
    package let createdAt: Timestamp
    /// The time of the last change of its keys or rights.
    package let modifiedAt: Timestamp

    package init(_ rule: AccessRule, createdAt: Timestamp, modifiedAt: Timestamp) {
        self.rule = rule
        self.createdAt = createdAt
        self.modifiedAt = modifiedAt
    }

    /// Maximum number of rules of a hub or a namespace (the service's own limit).
    package static let maximumCount = 12
}

extension AuthorizationRule {
    var xml: String {
        let rights = rule.rights.names.map { "<AccessRights>\($0)</AccessRights>" }.joined()
        return "<AuthorizationRule i:type=\"SharedAccessAuthorizationRule\">"
            + "<ClaimType>SharedAccessKey</ClaimType><ClaimValue>None</ClaimValue><Rights>\(rights)</Rights>"
            + "<CreatedTime>\(createdAt.precise)</CreatedTime>"
            + "<ModifiedTime>\(modifiedAt.precise)</ModifiedTime>"
            + "<KeyName>\(XMLText.escaped(rule.name))</KeyName>"
            + "<PrimaryKey>\(XMLText.escaped(rule.primaryKey))</PrimaryKey>"
            + "<SecondaryKey>\(XMLText.escaped(rule.secondaryKey))</SecondaryKey></AuthorizationRule>"
    }
}

extension AccessRule {
    /// - Throws: ``ProtocolError`` 400 for a name that a token cannot carry unescaped, as most clients send it, or that
    ///   .NET would write differently.
    package static func checkName(_ name: String) throws(ProtocolError) {
        guard (1...ConnectionString.maximumPartLength).contains(name.utf8.count),
            name.hasOnlyLettersAndDigits(or: "-_.!*()")
        else {
            throw .badRequest(
                "'\(name.excerpt)' cannot name a rule: use 1 to \(ConnectionString.maximumPartLength) letters, digits and -_.!*()."
            )
        }
    }

    /// The service requires 32 bytes in base64; every key that a connection string can contain is accepted here.
    ///
    /// - Throws: ``ProtocolError`` 400, which does not quote the key.
    package static func checkKey(_ key: String, of name: String) throws(ProtocolError) {
        guard (1...ConnectionString.maximumPartLength).contains(key.utf8.count),
            key.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: ";") })
        else {
            throw .badRequest(
                "A key of rule '\(name.excerpt)' cannot be used: it needs 1 to \(ConnectionString.maximumPartLength) visible ASCII characters without ';'."
            )
        }
    }

    /// - Throws: ``ProtocolError`` 400 for no rights, and for Manage alone, which the service does not grant either.
    package static func checkRights(_ rights: AccessRights, of name: String) throws(ProtocolError) {
        guard !rights.isEmpty else { throw .badRequest("Rule '\(name.excerpt)' has no rights.") }
        guard !rights.contains(.manage) || rights.isSuperset(of: [.listen, .send]) else {
            throw .badRequest("Rule '\(name.excerpt)' has Manage and so needs Send and Listen too.")
        }
    }
}
