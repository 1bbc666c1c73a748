/// The user who makes a request, authenticated by a password, a token or a trusted party.
package struct Caller: Sendable, Equatable {
    package let name: UserName
    package let mayNotifyOthers: Bool
    /// True if the user may write and send messages at the desk of the hub's pages.
    package var mayUseDesk = false
}
