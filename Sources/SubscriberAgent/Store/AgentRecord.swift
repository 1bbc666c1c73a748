import HubProtocol

/// An agent's stored data about itself.
struct AgentRecord: Sendable, Equatable {
    let installation: InstallationID
    /// Never logged.
    let channel: PushChannelSecret
    /// The choice in the order typed; `nil` if there is none, empty for broadcasts only.
    let categories: [String]?
    /// The categories that the hub last confirmed; `nil` if it does not have the installation.
    let registered: [String]?
    let template: TemplateChoice
    /// The template that the hub last confirmed, unless it was the standard one.
    let registeredTemplate: String?
    /// The user whose tag the installation at the hub may have, in lower case.
    let taggedUser: String?
    /// The user of the last registration.
    let registeredUser: String?
    /// The last event id up to which all events are in the inbox.
    let cursor: String?
    /// The number of times that the installation at the hub, and with it the position, was given up.
    ///
    /// Only a stream that was opened under the present number may store its position.
    let generation: Int64
    let hub: String?
    let allowsPlainHTTP: Bool
    /// Chosen categories that were reported to the user as retired.
    let retired: [String]

    var needsRegistration: Bool {
        categories != nil && (categories != registered || template.ownBody != registeredTemplate)
    }
}
