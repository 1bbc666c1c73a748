import HostSystem
import HubProtocol
import Logging
import OutboundHTTP
import Signals
import Synchronization
import WebTokens

/// Keeps the keys of an identity provider.
///
/// Keys from a URL are fetched when the first token arrives, and again when a token arrives and the keys are old. An
/// unknown key causes at most one fetch a minute, so that clients cannot make this server call the provider
/// continually. While the provider is down, or its file is damaged, the last keys are used.
final class ProviderKeys: Sendable {
    /// The age from which requests wait for new keys: the provider may have withdrawn one.
    static let lifetime = Duration.seconds(3_600)
    /// The age from which keys are fetched again, while requests still use the old ones.
    static let refreshAge = Duration.seconds(3_000)
    /// The minimum time between the starts of two fetches.
    static let pause = Duration.seconds(60)
    /// The minimum time between the starts of two fetches while there are no keys.
    static let firstPause = Duration.seconds(10)
    private static let timeout = Duration.seconds(10)

    /// Keys from a file, which several requests may read at the same time.
    struct FileKeys {
        private(set) var keys: SigningKeys?
        /// The file of the latest reading, even if it could not be used.
        private var stamp: FileStamp?

        /// Begins to read a file.
        ///
        /// - Returns: False if the file is known.
        mutating func begin(_ stamp: FileStamp?) -> Bool {
            defer { self.stamp = stamp }
            return keys == nil || self.stamp != stamp
        }

        /// Ends a reading; `keys` is `nil` if the file could not be used.
        ///
        /// A reading that was overtaken by one of a later file changes nothing, unless it has the first keys: another
        /// reading of the same file may have failed, and old keys are better than none.
        ///
        /// - Returns: False if it changed nothing.
        mutating func end(_ keys: SigningKeys?, _ stamp: FileStamp?) -> Bool {
            let isLatest = self.stamp == stamp
            guard isLatest || keys != nil && self.keys == nil else { return false }
            if let keys {
                self.keys = keys
                self.stamp = self.stamp ?? stamp
            } else {
                // The same file is read again next time: the failure may have been temporary.
                self.stamp = nil
            }
            return true
        }
    }

    private struct State {
        var keys: SigningKeys?
        var fetchedAt = Duration.zero
        var attemptedAt: Duration?
        var file = FileKeys()
        var isFailing = false
    }

    private let source: OpenIDConfiguration.Keys
    private let clock: @Sendable () -> Duration
    private let logger: Logger
    private let state = Mutex(State())
    private let fetching = SingleFlight<SingleKey, Void>()

    init(_ source: OpenIDConfiguration.Keys, clock: @escaping @Sendable () -> Duration, logger: Logger) {
        self.source = source
        self.clock = clock
        self.logger = logger
    }

    /// The keys for checking a token; the token's own key may be missing.
    ///
    /// - Throws: ``TokenProblem/noKeys`` if no keys have been read.
    func keys(for token: SignedToken) async throws(TokenProblem) -> SigningKeys {
        switch source {
        case .file(let path): await readIfChanged(path)
        case .url(let url, let http):
            let (keys, age) = state.withLock { [now = clock()] in ($0.keys, now - $0.fetchedAt) }
            let isKnown = keys?.haveKey(for: token) ?? false
            let fetch = fetchIfDue(isKnown: isKnown) { await self.fetch(url, http) }
            if !isKnown || age >= Self.lifetime { _ = await fetch?.result }
        }
        guard let keys = state.withLock({ $0.keys ?? $0.file.keys }) else { throw .noKeys }
        return keys
    }

    // MARK: From a URL

    /// Starts a fetch if one is due.
    ///
    /// - Returns: The running fetch.
    private func fetchIfDue(isKnown: Bool, _ fetch: @escaping @Sendable () async -> Void) -> Task<Void, any Error>? {
        let now = clock()
        return state.withLock { state in
            if let task = fetching.current { return task }
            if isKnown, now - state.fetchedAt < Self.refreshAge { return nil }
            let pause = state.keys == nil ? Self.firstPause : Self.pause
            if let last = state.attemptedAt, now - last < pause { return nil }
            state.attemptedAt = now
            return fetching.join { await fetch() }
        }
    }

    private func fetch(_ url: String, _ http: OutboundClient) async {
        let request = OutboundRequest(
            url: url,
            headers: [("Accept", "application/jwk-set+json, application/json")],
            connectTimeout: Self.timeout,
            totalTimeout: Self.timeout,
            idleTimeout: Self.timeout,
            maximumBodyBytes: SigningKeys.maximumBytes,
            maximumRedirects: 0,
            // The operator has configured the address; it is often on an internal network.
            addresses: .any
        )
        do {
            let reply = try await http.send(request)
            guard reply.status == 200 else { throw SigningKeysProblem(description: "the reply is \(reply.status)") }
            let keys = try SigningKeys(reply.body)
            let now = clock()
            state.withLock { state in
                state.keys = keys
                state.fetchedAt = now
            }
            note(nil)
        } catch {
            note(error)
        }
    }

    // MARK: From a file

    private func readIfChanged(_ path: String) async {
        let stamp = FileStamp(path)
        guard state.withLock({ $0.file.begin(stamp) }) else { return }
        do {
            let keys = try SigningKeys(try PrivateFile.bytes(path, limit: SigningKeys.maximumBytes))
            if state.withLock({ $0.file.end(keys, stamp) }) { note(nil) }
        } catch {
            if state.withLock({ $0.file.end(nil, stamp) }) { note(error) }
        }
    }

    /// Logs the first of several consecutive failures.
    private func note(_ error: (any Error)?) {
        let isFirst = state.withLock { state in
            defer { state.isFailing = error != nil }
            return !state.isFailing
        }
        guard let error, isFirst else { return }
        logger.warning("the identity provider's keys cannot be read", metadata: ["error.reason": "\(error)"])
    }
}
