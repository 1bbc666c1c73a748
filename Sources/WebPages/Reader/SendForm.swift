import HubProtocol

/// A form that sends a message to a user by name.
package struct SendForm: Sendable, Equatable {
    package struct Platform: Sendable, Equatable {
        let name: String
        let label: String
        let isChosen: Bool

        init(name: String, isChosen: Bool) {
            self.name = name
            label = HubProtocol.Platform(rawValue: name).label
            self.isChosen = isChosen
        }
    }

    /// The address that the form is sent to.
    let action: String
    let platforms: [Platform]
    /// The name of the addressee.
    let user: String
    let text: String
    /// True if only an id passes through push services, and the addressee fetches the text.
    let isSecure: Bool
    /// The users whom the sender may notify, if not all.
    let hint: String?

    /// Creates a form with the sender's input, by default an empty one.
    ///
    /// - Parameters:
    ///   - frame: Names the signed-in user.
    ///   - platforms: The names of all platforms.
    ///   - chosen: The names of those that are selected; `nil` for all.
    ///   - user: The addressee; `nil` for the only one that the sender may notify, if there is only one.
    ///   - text: The message.
    ///   - isSecure: True if only an id passes through push services.
    ///   - mayNotifyOthers: False for a user who can notify nobody else.
    package init(
        frame: PageFrame,
        platforms: [String],
        chosen: [String]? = nil,
        user: String? = nil,
        text: String = "",
        isSecure: Bool = false,
        mayNotifyOthers: Bool
    ) {
        action = "\(frame.home)notify"
        self.platforms = platforms.map { Platform(name: $0, isChosen: chosen?.contains($0) ?? true) }
        self.user = user ?? (mayNotifyOthers ? "" : frame.user ?? "")
        (self.text, self.isSecure) = (text, isSecure)
        hint = mayNotifyOthers ? nil : frame.words[.sendOnlyYourself]
    }
}
