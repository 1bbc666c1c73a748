import Foundation
import HubClient
import HubTestServer
import OutboundHTTP
import Synchronization
import Testing

@testable import FeedLists
@testable import FeedPublisher
@testable import Feeds

/// A site, a hub, a store and a clock, and passes over them.
final class Newsroom: Sendable {
    private struct State {
        var now = Date(timeIntervalSince1970: 1_780_000_000)
        var lines: [PublishLine] = []
        var pauses: [Duration] = []
        var random: UInt64 = 0
        var program = "1"
        /// Called with each body before it is read.
        var reading: @Sendable ([UInt8]) -> Void = { _ in }
        /// Of a pass; without one its time is never over.
        var deadline: @Sendable (Duration) async throws -> Void = { _ in try await Gate.never() }
    }

    private final class SpentDeadlines: Sendable {
        private let waits = Mutex<Set<Duration>>([])

        func insert(_ wait: Duration) -> Bool { waits.withLock { $0.insert(wait).inserted } }
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    let site: FakeSite
    let hub: FakeHub
    let folder: ScratchFolder
    private let shared = Shared()
    private let http: OutboundClient

    /// Proxied, every other host is the site, too, whose paths are then whole addresses.
    init(isProxied: Bool = false) throws {
        let site = try FakeSite()
        self.site = site
        http = OutboundClient(
            userAgent: "newswire-tests",
            proxies: isProxied ? ProxySettings { $0 == "http_proxy" ? site.url("") : nil } : .none
        )
        hub = try FakeHub()
        folder = try ScratchFolder()
    }

    var storePath: String { folder.file("publisher.db") }

    /// Lists with the given feeds by category; all on loopback, asked each minute.
    func lists(_ feeds: [String: [String]], template: String? = nil) throws -> FeedLists {
        let texts = feeds.sorted { $0.key < $1.key }.map { category, paths in
            var text = "category: \(category)\nevery: 1m\n"
            if let template { text += "template: \"\(template)\"\n" }
            text += "feeds:\n"
            for path in paths { text += "  - url: \(site.url(path))\n    local: true\n" }
            return (file: "feeds/\(category).yaml", text: text)
        }
        return try FeedLists.parse(texts)
    }

    @discardableResult
    func pass(
        _ lists: FeedLists,
        http: OutboundClient? = nil,
        _ change: (inout PublishOptions) -> Void = { _ in }
    ) async throws -> PublishReport {
        let store = try store()
        defer { try? store.close() }
        return try await pass(lists, store: store, http: http, change)
    }

    func pass(
        _ lists: FeedLists,
        store: PublisherStore,
        http: OutboundClient? = nil,
        _ change: (inout PublishOptions) -> Void = { _ in }
    ) async throws -> PublishReport {
        var options = PublishOptions()
        change(&options)
        return try await prepared(lists, store: store, http: http, options).run()
    }

    /// A pass that was not begun.
    func prepared(
        _ lists: FeedLists,
        store: PublisherStore,
        http: OutboundClient? = nil,
        _ options: PublishOptions = PublishOptions()
    ) -> PublishPass {
        PublishPass(
            lists: lists,
            store: store,
            http: http ?? self.http,
            hub: hub.client,
            options: options,
            environment: environment,
            reporter: reporter
        )
    }

    func preview(
        _ lists: FeedLists,
        _ change: (inout PublishOptions) -> Void = { _ in }
    ) async throws -> PublishPreview {
        var options = PublishOptions()
        change(&options)
        return try await PublishPass.preview(
            lists: lists,
            storePath: storePath,
            http: http,
            hub: hub.client,
            options: options,
            environment: environment,
            reporter: reporter
        )
    }

    /// A publisher that stays, to be moved by ``PublishWatch/step()``.
    func watch(
        _ lists: FeedLists,
        store: PublisherStore,
        callback: String? = PushedRoom.base,
        hubs: AddressPolicy = .any
    ) -> PublishWatch {
        let pass = PublishPass(
            lists: lists,
            store: store,
            http: http,
            hub: hub.client,
            environment: environment,
            reporter: reporter
        )
        return PublishWatch(pass, directory: folder.path, callback: callback, hubs: hubs)
    }

    func store() throws -> PublisherStore { try PublisherStore(path: storePath) }

    var now: Date { shared.state.withLock { $0.now } }

    func advance(_ seconds: Double) { shared.state.withLock { $0.now += seconds } }

    /// Sets what lets the time of the next passes be over, once each.
    func setDeadlines(_ gates: [Duration: Gate]) {
        let spent = SpentDeadlines()
        let deadline: @Sendable (Duration) async throws -> Void = { wait in
            guard let gate = gates[wait], spent.insert(wait) else { return try await Gate.never() }
            await gate.opened()
        }
        shared.state.withLock { $0.deadline = deadline }
    }

    /// Sets a time of the next passes that is over whenever it begins.
    func letPass(_ wait: Duration) {
        shared.state.withLock { state in
            let deadline = state.deadline
            state.deadline = { if $0 != wait { try await deadline($0) } }
        }
    }

    func setProgram(_ version: String) { shared.state.withLock { $0.program = version } }

    func whenReading(_ work: @escaping @Sendable ([UInt8]) -> Void) { shared.state.withLock { $0.reading = work } }

    var pauses: [Duration] { shared.state.withLock { $0.pauses } }

    /// What was said since this was last asked, without what was said before.
    func lines() -> [String] {
        shared.state.withLock { state in
            defer { state.lines = [] }
            return state.lines.filter { !$0.isRepeat }.map { "\($0.level.rawValue): \($0.text)" }
        }
    }

    private var reporter: PublishReporter {
        let shared = shared
        return PublishReporter(line: { line in shared.state.withLock { $0.lines.append(line) } })
    }

    private var environment: PublishEnvironment {
        let shared = shared
        var environment = PublishEnvironment()
        environment.now = { shared.state.withLock { $0.now } }
        environment.random = {
            shared.state.withLock { state in
                state.random &+= 0x9E37_79B9_7F4A_7C15
                return state.random
            }
        }
        environment.timeZone = { .gmt }
        environment.sleep = { pause in shared.state.withLock { $0.pauses.append(pause) } }
        environment.program = shared.state.withLock { $0.program }
        let (read, reading) = (environment.read, shared.state.withLock { $0.reading })
        environment.read = { document throws(FeedError) in
            reading(document.body)
            return try read(document)
        }
        environment.deadline = shared.state.withLock { $0.deadline }
        return environment
    }
}

extension PublisherStore {
    /// Limits the file's size, in pages of 4 KB, to fill the disk.
    func limitPages(to pages: Int) throws {
        try transaction { _ = try $0.rows("PRAGMA max_page_count = \(pages)") }
    }
}
