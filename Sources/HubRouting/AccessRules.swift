package import HubProtocol
package import NetworkAddresses

/// The key that authorized a request or a stream.
package struct Credential: Sendable, Hashable {
    package let rule: String
    package let key: String
    /// True if the rule belongs to the namespace, not to the hub.
    package let isOfNamespace: Bool

    package init(rule: String, key: String, isOfNamespace: Bool = false) {
        self.rule = rule
        self.key = key
        self.isOfNamespace = isOfNamespace
    }
}

/// The permissions of a request's sender.
package struct Grant: Sendable {
    package let rights: AccessRights
    package let credential: Credential
    /// The time at which a stream opened with the token ends, in seconds since 1970.
    package var validUntil = Int64.max
    /// The network that the request comes from; `nil` for a client that cannot be distinguished from others.
    package var network: NetworkGroup?

    package init(rights: AccessRights, credential: Credential) {
        self.rights = rights
        self.credential = credential
    }

    package var mayManage: Bool { rights.grants(.manage) }

    /// The holder of Listen whose records are charged; `nil` for Manage.
    package var writer: ListenWriter? {
        mayManage ? nil : ListenWriter(rule: credential.rule, network: network)
    }
}

/// The rules that a token for a hub is checked against: the hub's own, then the namespace's.
///
/// A hub's rule does not hide the namespace's rule of the same name. Otherwise the manager of one hub could lock out
/// the owner of the namespace.
package struct AccessRules: Sendable, Equatable {
    package let hub: [AccessRule]
    package let namespace: [AccessRule]

    /// Creates the rules; their order does not matter.
    package init(hub: [AccessRule] = [], namespace: [AccessRule] = []) {
        self.hub = hub.sorted { $0.name < $1.name }
        self.namespace = namespace.sorted { $0.name < $1.name }
    }

    package func rule(of credential: Credential) -> AccessRule? {
        (credential.isOfNamespace ? namespace : hub).first { $0.name == credential.rule }
    }

    /// True if the key is still a key of its rule.
    package func hold(_ credential: Credential) -> Bool {
        guard let rule = rule(of: credential) else { return false }
        return [rule.primaryKey, rule.secondaryKey].contains(credential.key)
    }
}
