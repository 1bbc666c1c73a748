import Crypto
import Foundation
import HubProtocol
import HubRouting
import HubStore
import Signals
import WebPages

/// The feeds of a hub's categories.
///
/// They follow the log. A message is read once for each requested category, and a document is written once for each
/// change of its news, however many readers poll. The first request after a start reads the log backwards. One request
/// reads at most ``maximumScan`` messages; in a longer log the following requests continue.
actor TagFeeds {
    /// Maximum number of messages that one request reads, in about 30 ms.
    private static let maximumScan = 10_000
    /// Maximum size of documents and news in memory, in bytes.
    private static let maximumBytes = 32 << 20
    /// Maximum number of categories with news in memory.
    private static let maximumFeeds = 512
    /// Time after which publishers' reports are read again, because they expire.
    private static let reportLifetime = Duration.seconds(3_600)

    /// A document, and the values that distinguish it from others.
    struct Page: Sendable {
        let feed: RenderedFeed
        /// The digest of the document without its origins.
        let digest: SHA256Digest
        let changed: Timestamp
        let place: FeedDocument.Place
    }

    /// A category in one language.
    private struct Key: Hashable {
        let tag: Tag
        var language: LanguageName?
    }

    private struct News {
        var read = TagNews()
        var pages: [FeedFileType: Page] = [:]
        /// Number of stories that ``pages`` show: some disappear when the log drops their messages.
        var shown = 0

        var bytes: Int { read.timeline.bytes + pages.values.reduce(0) { $0 + $1.feed.bytes } }
    }

    /// Number of documents written.
    private(set) var renderings = 0
    /// Number of times that the log was read.
    private(set) var logReadings = 0
    private var news = BoundedTable<Key, News>(maximumCount: maximumFeeds, maximumBytes: maximumBytes)
    private let readings = SingleFlight<Key, News>()
    private var categories: (revision: Int, spellings: [Tag: Tag])?
    private var languages: (revision: Int, readAt: Duration, names: [String: [LanguageName]])?
    private let languageReading = SingleFlight<Int, [String: [LanguageName]]>()
    /// Number of times that publishers' reports were read.
    private(set) var languageReadings = 0
    private var identity: StoredHub?

    /// The feed of a tag.
    ///
    /// - Returns: `nil` if the tag is not one of the hub's categories.
    /// - Throws: A `DatabaseError`.
    func page(of tag: Tag, as type: FeedFileType, in hub: Hub) async throws -> Page? {
        guard PublicAudience.isPublic(tag, hub.configuration.reservedTags),
            let spelled = try await spelling(of: tag, hub), let identity = try await identity(of: hub)
        else { return nil }
        let key = Key(tag: tag)
        var current = try await read(key, of: hub, identity)
        if let stored = news[key], stored.read.through >= current.read.through { current = stored }
        let dropped = hub.status.droppedThrough
        let shown = current.read.timeline.count(after: dropped)
        if shown != current.shown { current.pages = [:] }
        current.shown = shown
        let page =
            current.pages[type] ?? write(current.read.timeline, after: dropped, spelled, type, hub, identity)
        current.pages[type] = page
        keep(current, for: key)
        return page
    }

    /// The newest stories and withdrawals of those tags that are categories of the hub, newest first.
    ///
    /// With a language, only stories in that language. Throws a `DatabaseError`.
    func news(of tags: [Tag], language: LanguageName?, in hub: Hub) async throws -> [StoryVersion] {
        guard let identity = try await identity(of: hub) else { return [] }
        var found: [StoryID: StoryVersion] = [:]
        for tag in tags {
            guard try await spelling(of: tag, hub) != nil else { continue }
            let key = Key(tag: tag, language: language)
            let current = try await read(key, of: hub, identity)
            if news[key] == nil { keep(current, for: key) } else { news.use(key) }
            for storyVersion in current.read.timeline.versions(after: hub.status.droppedThrough) {
                found[storyVersion.id] = found[storyVersion.id].map(storyVersion.merged(with:)) ?? storyVersion
            }
        }
        return found.values.sorted { $0.sequence > $1.sequence }
    }

    private func keep(_ current: News, for key: Key) { news.keep(current, bytes: current.bytes, for: key) }

    private func write(
        _ timeline: NewsTimeline,
        after dropped: LogSequence,
        _ tag: Tag,
        _ type: FeedFileType,
        _ hub: Hub,
        _ identity: StoredHub
    ) -> Page {
        let document = FeedDocument(
            timeline,
            after: dropped,
            tag: tag,
            hub: identity.record.name.text,
            scope: identity.scope,
            begin: identity.createdAt,
            webSubHub: hub.configuration.webSubHub
        )
        renderings += 1
        let feed = document.rendered(as: type)
        return Page(
            feed: feed,
            digest: SHA256.hash(data: Data(feed.text(origin: "").utf8)),
            changed: document.updated,
            place: document.place
        )
    }

    // MARK: Values that rarely change

    private func spelling(of tag: Tag, _ hub: Hub) async throws -> Tag? {
        let revision = hub.status.categoryRevision
        if let categories, categories.revision == revision { return categories.spellings[tag] }
        let known = try await hub.categories().compactMap { try? Tag($0) }
        let spellings = Dictionary(known.map { ($0, $0) }) { first, _ in first }
        categories = (revision, spellings)
        return spellings[tag]
    }

    /// The languages of the hub's categories by the folded category, as publishers have reported them in the last days.
    ///
    /// A report can have half a MiB, and every page view needs the languages, so reports are read once for each change.
    ///
    /// - Throws: A `DatabaseError`.
    func languages(of hub: Hub) async throws -> [String: [LanguageName]] {
        // A report that comes during the reading has another revision.
        let (revision, now) = (hub.status.reportRevision, hub.configuration.monotonic())
        if let languages, languages.revision == revision, now - languages.readAt < Self.reportLifetime {
            return languages.names
        }
        return try await languageReading.value(revision) {
            let names = try await hub.reportedLanguages()
            await self.keep(languages: (revision, now, names))
            return names
        }
    }

    private func keep(languages: (revision: Int, readAt: Duration, names: [String: [LanguageName]])) {
        languageReadings += 1
        // Readings of two revisions can end in the other order.
        if let known = self.languages, known.revision > languages.revision { return }
        self.languages = languages
    }

    /// The creation time of the hub.
    func createdAt(_ hub: Hub) async throws -> Timestamp? { try await identity(of: hub)?.createdAt }

    private func identity(of hub: Hub) async throws -> StoredHub? {
        if let identity { return identity }
        identity = try await hub.store.hub(id: hub.record.id)
        return identity
    }

    // MARK: Reading the log

    /// Reads up to the last message of the log; concurrent requests share one read.
    private func read(_ key: Key, of hub: Hub, _ identity: StoredHub) async throws -> News {
        let last = hub.status.lastMessage
        while let reading = readings[key] { _ = await reading.result }
        let (known, dropped) = (news[key] ?? News(), hub.status.droppedThrough)
        guard known.read.lacks(last, dropped) else { return known }
        logReadings += 1
        let (reading, _) = readings.join(key) {
            let reader = TagReader(tag: key.tag, language: key.language, hub: hub, scope: identity.scope)
            var next = known
            next.read = try await reader.read(on: known.read, to: last, after: dropped, limit: Self.maximumScan)
            if next.read.timeline != known.read.timeline { next.pages = [:] }
            await self.keep(next, for: key)
            return next
        }
        return try await reading.value
    }
}

extension StoredHub {
    /// Distinguishes the hub from all others, and from an earlier hub of its name.
    fileprivate var scope: String { "\(record.name.text) \(createdAt.milliseconds)" }
}
