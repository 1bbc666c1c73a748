import HubProtocol

/// An agent's stored data about itself.
struct AgentRecord: Sendable, Equatable {
    let installation: InstallationID
    /// Never logged.
    let channel: PushChannelSecret
    /// In the order typed; `nil` when never chosen or given up, empty for broadcasts only.
    let categories: [String]?
    /// The categories that the hub last confirmed; `nil` when it holds no installation of ours.
    let registered: [String]?
    /// The form in which the hub sends messages to us.
    let template: TemplateChoice
    /// The template that the hub last confirmed, where it was not the standard one.
    let registeredTemplate: String?
    /// The user whose tag the installation at the hub may have, in small letters.
    let taggedUser: String?
    /// The user whom the last registration was for.
    let registeredUser: String?
    /// The last event id whose event, and all before it, are in the inbox.
    let cursor: String?
    let hub: String?
    let allowsPlainHTTP: Bool
    /// Chosen categories that the user was told are retired.
    let retired: [String]

    var needsRegistration: Bool {
        categories != nil && (categories != registered || template.ownBody != registeredTemplate)
    }
}
