package import FeedLists
internal import Feeds
package import FoundationEssentials
package import HubClient
internal import HubProtocol
package import OutboundHTTP
internal import Synchronization

/// The report of a dry run.
package struct PublishPreview: Sendable {
    package let report: PublishReport
    /// In the lists' order.
    package let feeds: [FeedPreview]
    /// In the order of sending, including messages of earlier passes.
    package let messages: [MessagePreview]
}

/// The result of a dry run for one feed.
package struct FeedPreview: Sendable {
    package enum State: Sendable, Equatable {
        case read
        case notAsked(NotAsked)
        case failed(PublishLine)
        /// The pass ended before its turn.
        case skipped
    }

    package let category: String
    package let address: FeedAddress
    package internal(set) var title: String?
    package internal(set) var state: State
    /// In document order.
    package internal(set) var entries: [EntryPreview] = []
}

/// The reason why a feed is not polled in a pass.
package enum NotAsked: Sendable, Equatable {
    case notDue(until: Date)
    case hostQuiet(until: Date)
    /// It reported that it is gone permanently.
    case gone(since: Date)
    /// An operator has paused it.
    case paused(since: Date)

    /// The time from which it can be polled.
    var until: Date? {
        switch self {
        case .notDue(let date), .hostQuiet(let date): date
        case .gone, .paused: nil
        }
    }
}

/// The result of a dry run for one entry.
package struct EntryPreview: Sendable {
    package enum Fate: Sendable, Equatable {
        /// A message of its own: an index of ``PublishPreview/messages``.
        case message(Int)
        case digest(FoldReason, message: Int)
        /// `story` is the headline of the story that was announced already, if that is the reason and it is still
        /// known.
        case silent(SkipReason, story: String?)
        /// Its message waits for its list's hour, or for the pause between two corrections of one story.
        case held(until: Date)
        /// The pass ended before its message was sent.
        case waiting
    }

    package let title: String
    package let link: String?
    package let date: Date?
    package let dateProblem: DateProblem?
    package internal(set) var fate: Fate
    /// The key of the message that announces it.
    let idempotencyKey: String?
    /// The headline of the message to which the entry was added in another language.
    package let translationOf: String?
}

extension FeedPreview {
    init(_ list: FeedList, _ source: FeedSource, _ record: FeedRecord?, state: State) {
        self.init(
            category: list.category.text,
            address: source.address,
            title: source.title ?? record?.title,
            state: state
        )
    }

    /// Accounts for every entry of a document.
    init(
        _ feed: Feed,
        _ list: FeedList,
        _ source: FeedSource,
        _ judge: NewsJudge,
        _ judgement: Judgement,
        _ composed: ComposedMessages
    ) {
        self.init(list, source, nil, state: .read)
        title = source.title ?? feed.title
        let announced = zip(judgement.announcements, composed.stories)
        let messages = Dictionary(announced.map { ($0.index, $1.message) }) { first, _ in first }
        let translations = Dictionary(judgement.translations.map { ($0.announcement.index, $0.story) }) { $1 }
        entries = feed.entries.enumerated().map { index, entry in
            let reason = judgement.skipped[index] ?? judge.skipReason(for: entry)
            let message = messages[index] ?? translations[index]?.unsent
            return EntryPreview(
                title: entry.title ?? message?.headlines ?? entry.id ?? entry.link ?? "",
                link: entry.link,
                date: entry.date,
                dateProblem: judge.dates.problem(entry.date),
                fate: message.map { message in
                    message.notBefore.flatMap { $0 > judge.now ? .held(until: $0) : nil } ?? .waiting
                } ?? .silent(reason, story: judgement.repeats[index]?.headline),
                idempotencyKey: message?.idempotencyKey,
                translationOf: translations[index]?.headline
            )
        }
    }
}

extension PublishPass {
    /// Runs a pass that only shows its results: nothing is sent, or changed on disk or at the hub.
    ///
    /// The whole document of each due feed is requested, regardless of the last reply. The store at `path` is read, and
    /// not created if it is missing. Without a hub, recipients are not counted.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package static func preview(
        lists: FeedLists,
        storePath path: String,
        http: OutboundClient,
        hub: HubClient?,
        options: PublishOptions = PublishOptions(),
        environment: PublishEnvironment = PublishEnvironment(),
        reporter: PublishReporter
    ) async throws -> PublishPreview {
        let collector = PreviewCollector()
        var pass = PublishPass(
            lists: lists,
            store: try PublisherStore.scratchCopy(of: path),
            http: http,
            hub: hub,
            options: options,
            environment: environment,
            reporter: reporter
        )
        pass.preview = collector
        return collector.preview(of: lists, try await pass.run())
    }
}

/// Collects the results of a dry run from several tasks.
final class PreviewCollector: Sendable {
    private struct State {
        var feeds: [String: FeedPreview] = [:]
        var messages: [MessagePreview] = []
        /// Positions in ``messages``, by the original key of each message.
        var positions: [String: Int] = [:]
        /// Rows that went into a digest: the reason, and the digest's key.
        var folded: [String: (reason: FoldReason, digest: String)] = [:]
    }

    private let state = Mutex(State())

    func add(_ feed: FeedPreview) {
        state.withLock { $0.feeds[Self.key(feed.category, feed.address)] = feed }
    }

    /// Adds the state of a feed without a document, for all lists that have it.
    func add(_ feed: ListedFeed, _ record: FeedRecord, state: FeedPreview.State) {
        for member in feed.members { add(FeedPreview(member.list, member.source, record, state: state)) }
    }

    private static func key(_ category: String, _ address: FeedAddress) -> String { "\(category) \(address.text)" }

    /// Adds a message that would be sent, with the number of its recipients if there is a hub.
    func add(_ message: OutboxMessage, _ body: [UInt8], countedBy hub: HubClient?) async {
        let counts = try? await hub?.recipients(tags: message.tags)
        let properties = try? MessageProperties(json: body)
        let texts = (properties?.names ?? []).filter { $0.language(of: .news) != nil }
        let preview = MessagePreview(
            category: properties?[.category] ?? message.tags,
            tags: message.tags,
            title: properties?[.title] ?? "",
            text: properties?[.messageParam] ?? texts.first.flatMap { properties?[$0] } ?? "",
            languages: texts.compactMap { $0.language(of: .news) },
            body: String(decoding: body, as: UTF8.self),
            bytes: body.count,
            recipients: counts?.total,
            platforms: counts?.platforms ?? [:]
        )
        state.withLock { state in
            state.positions[message.idempotencyKey] = state.messages.count
            state.messages.append(preview)
        }
    }

    func fold(_ key: String, _ reason: FoldReason, into digest: String) {
        state.withLock { $0.folded[key] = (reason, digest) }
    }

    func preview(of lists: FeedLists, _ report: PublishReport) -> PublishPreview {
        state.withLock { state in
            let feeds = lists.lists.flatMap { list in
                list.feeds.map { source in
                    var feed =
                        state.feeds[Self.key(list.category.text, source.address)]
                        ?? FeedPreview(list, source, nil, state: .skipped)
                    for index in feed.entries.indices {
                        if let fate = fate(of: feed.entries[index], state) { feed.entries[index].fate = fate }
                    }
                    return feed
                }
            }
            return PublishPreview(report: report, feeds: feeds, messages: state.messages)
        }
    }

    private func fate(of entry: EntryPreview, _ state: State) -> EntryPreview.Fate? {
        guard let key = entry.idempotencyKey else { return nil }
        if let position = state.positions[key] { return .message(position) }
        guard let folded = state.folded[key], let position = state.positions[folded.digest] else { return nil }
        return .digest(folded.reason, message: position)
    }
}
