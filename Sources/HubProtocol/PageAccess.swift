/// The clients that may read a hub's pages and feeds without an account.
package enum PageAccess: String, Sendable, CaseIterable {
    /// Nobody: the hub has no pages.
    case off
    /// Readers with an invitation.
    case invited
    /// Everybody.
    case `public`
}
