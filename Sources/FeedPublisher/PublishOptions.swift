import Settings

/// The options of one pass, from the command line and the settings.
package struct PublishOptions: Sendable {
    /// The entries announced of feeds that are read for the first time.
    package var announceExisting = ExistingEntries.none
    /// Number of messages of one category in one pass; the rest become one digest; `nil` for no cap.
    package var cap = PublisherSettings.cap.fallback.limit
    /// The window of time for the cap in a publisher that stays; `nil` for each pass.
    package var capWindow: Duration?
    /// Age at which a row is no longer news on its own.
    package var announceWithin = PublisherSettings.announceWithin.fallback
    /// True to poll feeds that are not due or were retired, too.
    package var force = false
    /// The feed on which the last run of the program trapped, as in ``HostSystem/TrapNote``.
    package var trappedFeed: Int64?
    /// The name under which the categories are announced to the hub.
    package var publisher = PublisherSettings.publisher.fallback

    package init() {}
}
