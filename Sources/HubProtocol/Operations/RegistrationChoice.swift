/// A choice of registrations to request from a hub.
package enum RegistrationChoice: Sendable {
    case all
    case tag(Tag)
    /// The registrations of a push handle; a key that grants Listen is enough. The other choices need Manage.
    case handle(String)

    /// The filter for a push handle; the name is that of .NET and Java for the handles of all platforms (protocol §3.5).
    package static func filter(_ handle: String) -> String { "ChannelUri eq '\(handle.replacing("'", with: "''"))'" }
}
