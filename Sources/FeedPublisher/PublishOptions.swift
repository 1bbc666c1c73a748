import Settings

/// The options of one pass, from the command line and the settings.
package struct PublishOptions: Sendable {
    /// The entries announced of feeds that are read for the first time.
    package var announceExisting = ExistingEntries.none
    /// Maximum number of messages of one category in one pass, above which the rest become one digest; `nil` for no
    /// cap.
    package var cap = PublisherSettings.cap.fallback.limit
    /// The window of time for the cap in a publisher that keeps running; `nil` if the cap applies to each pass.
    package var capWindow: Duration?
    /// The age from which a message is no longer sent on its own.
    package var announceWithin = PublisherSettings.announceWithin.fallback
    /// True to poll also feeds that are not due or are gone.
    package var force = false
    /// The feed whose document crashed the last run of the program, as in ``HostSystem/TrapNote``.
    package var trappedFeed: Int64?
    /// The name under which the categories are announced to the hub.
    package var publisher = PublisherSettings.publisher.fallback

    package init() {}
}
