package import FoundationEssentials

/// One push handle with its tags: native, or through one template.
///
/// A client creates registrations one by one, or an installation has several (protocol §3, §4.3). On the wire a
/// registration is an Atom entry.
package struct Registration: Sendable, Equatable {
    package var id: RegistrationID
    /// Number of writes, 1 on creation; 0 before a hub has stored it.
    package var etag: Int
    /// Set by the hub; `nil` for never.
    package var expirationTime: Date?
    /// In the client's order, no two equal; at most one `$InstallationId` and one `$UserId`.
    package var tags: [Tag]
    package var pushVariables: [String: String]
    package var platform: Platform
    /// For Baidu the user id and the channel id, joined by a dash.
    package var pushChannel: PushChannel
    /// The tile of a `wns` or `mpns` registration; `nil` for the app's main tile.
    package var secondaryTileName: String?
    /// `nil` for a native registration.
    package var template: RegistrationTemplate?
    /// True for platform `gcm` if it came as an `FcmRegistrationDescription`: it goes back as one (protocol §3.7).
    package var isFcm: Bool
    /// The name of an installation's template that is not a valid tag, without a comma.
    ///
    /// It is listed after the tags, and never matched, stored or exported (protocol §4.3).
    package var listedName: String?

    package init(
        id: RegistrationID,
        etag: Int = 0,
        expirationTime: Date? = nil,
        tags: [Tag] = [],
        pushVariables: [String: String] = [:],
        platform: Platform,
        pushChannel: PushChannel,
        secondaryTileName: String? = nil,
        template: RegistrationTemplate? = nil,
        isFcm: Bool = false
    ) {
        self.id = id
        self.etag = etag
        self.expirationTime = expirationTime
        self.tags = tags
        self.pushVariables = pushVariables
        self.platform = platform
        self.pushChannel = pushChannel
        self.secondaryTileName = secondaryTileName
        self.template = template
        self.isFcm = isFcm
    }
}
