import FoundationEssentials

/// A named pair of keys with the rights that either of them carries.
package struct AccessRule: Sendable, Equatable {
    /// The two rules that are made with every hub (protocol §1.1).
    package static let defaultListenName = "DefaultListenSharedAccessSignature"
    package static let defaultFullName = "DefaultFullSharedAccessSignature"
    /// The rule of the namespace, for managing hubs.
    package static let rootName = "RootManageSharedAccessKey"

    package let name: String
    package let primaryKey: String
    package let secondaryKey: String
    package let rights: AccessRights

    package init(name: String, primaryKey: String, secondaryKey: String, rights: AccessRights) {
        self.name = name
        self.primaryKey = primaryKey
        self.secondaryKey = secondaryKey
        self.rights = rights
    }

    package static func generated(name: String, rights: AccessRights) -> AccessRule {
        AccessRule(name: name, primaryKey: generatedKey(), secondaryKey: generatedKey(), rights: rights)
    }

    /// Returns 32 random bytes in standard base64, the only form that every client accepts (protocol §1.1).
    package static func generatedKey() -> String {
        Data(RandomBytes.make(count: 32)).base64EncodedString()
    }
}
