package import FairShares
package import NetworkAddresses

/// The holder of Listen who has last written a record, as quotas count it: the rule of the key, and the network.
package struct ListenWriter: Sendable, Equatable {
    package let rule: String
    /// `nil` for a client that cannot be distinguished from others.
    package let network: NetworkGroup?

    /// The writer of a record that an earlier version has stored.
    package static let unknown = ListenWriter(rule: "", network: nil)

    package init(rule: String, network: NetworkGroup?) {
        self.rule = rule
        self.network = network
    }

    /// The stored form: the network or `-`, a space and the rule.
    package var text: String { "\(network?.description ?? "-") \(rule)" }

    package init(text: String) {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(
            rule: parts.count == 2 ? String(parts[1]) : "",
            network: parts.first.flatMap { NetworkGroup(String($0)) }
        )
    }

    /// The groups in which what it has written counts: the key's, and those of the network.
    package var groups: [ShareGroup] {
        guard let network else { return [] }
        return [.key(rule)] + network.path.map { .network($0) }
    }
}
