import Markup

/// The part of a hub's description that our clients read.
package struct HubSummary: Sendable, Equatable {
    package let name: HubName
    package let registrationTimeToLive: RegistrationTimeToLive
    package let isDisabled: Bool
    /// The rules that have both keys and rights.
    package let rules: [AccessRule]

    /// Reads a reply of one entry or of a list of them; entries that are not hubs are skipped.
    ///
    /// - Throws: ``ProtocolError`` if it is not XML, or contains an invalid description.
    package static func read(_ reply: [UInt8]) throws(ProtocolError) -> [HubSummary] {
        var hubs: [HubSummary] = []
        for (title, description) in try ManagementDocument.entries(in: reply)
        where description.name == "NotificationHubDescription" {
            let change = try NotificationHubChange(description)
            let rules = (change.rules ?? []).compactMap { rule -> AccessRule? in
                guard let primary = rule.primaryKey, let rights = rule.rights else { return nil }
                return AccessRule(
                    name: rule.name,
                    primaryKey: primary,
                    secondaryKey: rule.secondaryKey ?? primary,
                    rights: rights
                )
            }
            hubs.append(
                HubSummary(
                    name: try HubName(title),
                    registrationTimeToLive: change.registrationTimeToLive ?? .unlimited,
                    isDisabled: change.isDisabled ?? false,
                    rules: rules
                )
            )
        }
        return hubs
    }
}
