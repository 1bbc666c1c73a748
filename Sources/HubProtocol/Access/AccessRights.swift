/// The rights of a rule's key.
package struct AccessRights: OptionSet, Sendable, Hashable, Codable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let listen = AccessRights(rawValue: 1)
    package static let send = AccessRights(rawValue: 2)
    package static let manage = AccessRights(rawValue: 4)

    /// True if these rights include `needed`; Manage includes the others (protocol §1.5).
    package func grants(_ needed: AccessRights) -> Bool {
        contains(.manage) || isSuperset(of: needed)
    }

    /// The names in the order of the service's own lists: Listen, Manage, Send.
    package var names: [String] {
        Self.named.filter { contains($0.right) }.map(\.name)
    }

    /// Reads one name, in any case; `nil` when it is not one of the three.
    package init?(name: String) {
        guard let found = Self.named.first(where: { $0.name.lowercased() == name.lowercased() }) else { return nil }
        self = found.right
    }

    var strongestName: String {
        contains(.manage) ? "Manage" : contains(.send) ? "Send" : "Listen"
    }

    private static let named: [(name: String, right: AccessRights)] = [
        ("Listen", .listen), ("Manage", .manage), ("Send", .send),
    ]
}
