/// The options of one pass, from the command line and the settings.
package struct PublishOptions: Sendable {
    /// Messages of one category in one pass; the rest become one digest.
    package static let standardCap = 5
    /// Age at which a row is no longer news by itself.
    package static let standardAnnounceWithin: Duration = .seconds(6 * 3_600)

    /// For feeds that are read for the first time.
    package var announceExisting = ExistingEntries.none
    /// `nil`: no cap.
    package var cap: Int? = PublishOptions.standardCap
    /// The time for which the cap counts in a publisher that stays; `nil`: each pass.
    package var capWindow: Duration?
    package var announceWithin = PublishOptions.standardAnnounceWithin
    /// Also polls what is not due and what was retired.
    package var force = false
    /// The feed that the last run of the program trapped on, as ``HostSystem/TrapNote`` knows it.
    package var trappedFeed: Int64?
    /// The name under which the categories are announced to the hub.
    package var publisher = "newswire"

    package init() {}
}
