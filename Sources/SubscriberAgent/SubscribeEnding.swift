internal import HostSystem

/// The ending of a `subscribe` that succeeded.
package enum SubscribeEnding: Sendable, Equatable {
    /// The task was cancelled, and the handler in progress has ended.
    case stopped
    /// Another process listens for this profile and continues; it follows the new choice.
    case choiceStored(ChoiceOutcome)
    /// Another process has unsubscribed.
    case unsubscribed
    /// The reader of standard output is gone.
    case outputClosed
    /// Another process opened the stream of the same installation, for example from a copied state directory.
    case replaced

    /// 78 for ``replaced``: if both were restarted, each would end the other's stream for ever.
    package var exitCode: Int32 { self == .replaced ? ExitStatus.badConfiguration.rawValue : 0 }
}

/// The outcome of a new choice.
package struct ChoiceOutcome: Sendable, Equatable {
    /// The choice in the hub's spelling if the hub replied; empty for broadcasts only.
    package let categories: [String]
    package var template = TemplateChoice.standard
    /// False if the choice is only stored, until the hub is available.
    package let isRegistered: Bool
    /// True if another process listens for the profile.
    package let isListening: Bool
    /// The pause that the hub asked for, if it did.
    package var retryAfter: Duration?
}

/// A category in the list of `newswire categories`.
package struct CategoryListing: Sendable, Equatable, Encodable {
    package let name: String
    package let isChosen: Bool
    /// True if the hub has the category; `nil` if the hub keeps no list.
    package let isKnown: Bool?

    private enum CodingKeys: String, CodingKey {
        case name
        case isChosen = "chosen"
        case isKnown = "known"
    }
}
