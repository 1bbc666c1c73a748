package import OutboundHTTP
import Settings

/// The options of one pass, from the command line and the settings.
package struct PublishOptions: Sendable {
    /// The entries announced of feeds that are read for the first time.
    package var announceExisting = ExistingEntries.none
    /// Maximum number of single messages of one category in ten minutes, above which the rest become a digest; `nil`
    /// for no cap.
    package var cap = PublisherSettings.cap.fallback.limit
    /// The age from which a message is no longer sent on its own.
    package var announceWithin = PublisherSettings.announceWithin.fallback
    /// True to poll also feeds that are not due or are gone.
    package var force = false
    /// The feed whose document crashed the last run of the program, as in ``HostSystem/TrapNote``.
    package var trappedFeed: Int64?
    /// The name under which the categories are announced to the hub.
    package var publisher = PublisherSettings.publisher.fallback

    /// The addresses that feeds may have which operators add at the hub; only tests change it.
    package var addedFeeds = AddressPolicy.publicOnly
    /// The folder of the feed lists, if operators may change them at the hub; `nil` if they may not.
    package var editableLists: String?

    package init() {}
}
