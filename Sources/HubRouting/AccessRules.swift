package import HubProtocol

/// The key that a request or a stream was allowed with.
package struct Credential: Sendable, Hashable {
    package let rule: String
    package let key: String
    /// The rule is the namespace's and not the hub's.
    package let isOfNamespace: Bool

    package init(rule: String, key: String, isOfNamespace: Bool = false) {
        self.rule = rule
        self.key = key
        self.isOfNamespace = isOfNamespace
    }
}

/// What the sender of a request may do.
package struct Grant: Sendable {
    package let rights: AccessRights
    package let credential: Credential
    /// When a stream that the token has opened ends, in seconds since 1970.
    package var validUntil = Int64.max

    package init(rights: AccessRights, credential: Credential) {
        self.rights = rights
        self.credential = credential
    }

    package var mayManage: Bool { rights.grants(.manage) }
}

/// The rules that a token for a hub is checked against: the hub's own, then the namespace's.
///
/// A hub's rule does not hide the namespace's rule of the same name: whoever manages one hub could lock the owner of
/// the namespace out.
package struct AccessRules: Sendable, Equatable {
    package let hub: [AccessRule]
    package let namespace: [AccessRule]

    /// Rules come in any order.
    package init(hub: [AccessRule] = [], namespace: [AccessRule] = []) {
        self.hub = hub.sorted { $0.name < $1.name }
        self.namespace = namespace.sorted { $0.name < $1.name }
    }

    package func rule(of credential: Credential) -> AccessRule? {
        (credential.isOfNamespace ? namespace : hub).first { $0.name == credential.rule }
    }

    /// True if the key is still one of the rule's.
    package func hold(_ credential: Credential) -> Bool {
        guard let rule = rule(of: credential) else { return false }
        return [rule.primaryKey, rule.secondaryKey].contains(credential.key)
    }
}
