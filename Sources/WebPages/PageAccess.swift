/// Who may read a hub's pages and feeds without an account.
package enum PageAccess: String, Sendable, CaseIterable {
    /// Nobody: the hub has no pages.
    case off
    /// Readers who were let in.
    case invited
    /// Everybody.
    case `public`
}
