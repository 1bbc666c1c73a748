package import FeedLists
internal import Feeds
internal import FoundationEssentials
package import HubClient
internal import HubProtocol
package import Logging
package import OutboundHTTP

/// One polling pass: ask the feeds that are due, record what is new, send what waits.
///
/// Whatever point a pass is killed at, the next one goes on from there: no entry is lost, and none announced twice
/// where the hub knows idempotency keys.
package struct PublishPass: Sendable {
    let lists: FeedLists
    let store: PublisherStore
    let fetcher: FeedFetcher
    let hub: HubClient?
    /// In a dry run.
    let preview: PreviewCollector?
    let options: PublishOptions
    /// In a publisher that stays.
    let resident: ResidentTurns?
    let environment: PublishEnvironment
    let reporter: PublishReporter
    let logger: Logger

    /// A pass that sends.
    ///
    /// Only one may use a store at a time (``PublisherLock``). The user agent of `http` names us to the feeds.
    package init(
        lists: FeedLists,
        store: PublisherStore,
        http: OutboundClient,
        hub: HubClient,
        options: PublishOptions = PublishOptions(),
        environment: PublishEnvironment = PublishEnvironment(),
        reporter: PublishReporter,
        logger: Logger = Logger(label: "newswire.publish")
    ) {
        self.init(
            lists: lists,
            store: store,
            http: http,
            hub: hub,
            options: options,
            resident: nil,
            environment: environment,
            reporter: reporter,
            logger: logger
        )
    }

    /// The work of a publisher that stays: it asks for what is due and sends in its own time.
    init(
        lists: FeedLists,
        store: PublisherStore,
        http: OutboundClient,
        hub: HubClient,
        options: PublishOptions,
        resident: ResidentTurns?,
        environment: PublishEnvironment,
        reporter: PublishReporter,
        logger: Logger
    ) {
        self.init(
            lists: lists,
            store: store,
            http: http,
            hub: hub,
            preview: nil,
            options: options,
            resident: resident,
            environment: environment,
            reporter: reporter,
            logger: logger
        )
    }

    /// Runs a pass that shows what it would do instead of sending, and changes nothing on disk or at the hub.
    ///
    /// Each feed that is due is asked for its whole document, whatever it answered last. The store at `path` is read, and
    /// not made when there is none. Without a hub nobody is counted.
    ///
    /// - Throws: ``PublisherStoreError``.
    package static func preview(
        lists: FeedLists,
        storePath path: String,
        http: OutboundClient,
        hub: HubClient?,
        options: PublishOptions = PublishOptions(),
        environment: PublishEnvironment = PublishEnvironment(),
        reporter: PublishReporter,
        logger: Logger = Logger(label: "newswire.publish")
    ) async throws -> PublishPreview {
        let collector = PreviewCollector()
        let pass = PublishPass(
            lists: lists,
            store: try PublisherStore.scratchCopy(of: path),
            http: http,
            hub: hub,
            preview: collector,
            options: options,
            resident: nil,
            environment: environment,
            reporter: reporter,
            logger: logger
        )
        return collector.preview(of: lists, try await pass.run())
    }

    private init(
        lists: FeedLists,
        store: PublisherStore,
        http: OutboundClient,
        hub: HubClient?,
        preview: PreviewCollector?,
        options: PublishOptions,
        resident: ResidentTurns?,
        environment: PublishEnvironment,
        reporter: PublishReporter,
        logger: Logger
    ) {
        self.lists = lists
        self.store = store
        self.fetcher = FeedFetcher(http: http, now: environment.now)
        self.hub = hub
        self.preview = preview
        self.options = options
        self.resident = resident
        self.environment = environment
        self.reporter = reporter
        self.logger = logger
    }

    /// Runs the pass.
    ///
    /// A cancelled task ends it between two feeds or messages.
    ///
    /// - Throws: ``PublisherStoreError`` when nothing can be recorded; the caller ends with 75 if it is temporary.
    package func run() async throws -> PublishReport {
        let start = environment.now()
        var report = PublishReport()
        var sending = Sending()
        try settleReadings()
        try await poll(try due(start).hosts, start, &report, &sending)
        try await send(start, &report, &sending)
        report.pending = try store.counts().pending
        return report
    }
}
