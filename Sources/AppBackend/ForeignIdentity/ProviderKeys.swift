import HostSystem
import HubProtocol
import Logging
import OutboundHTTP
import Synchronization

/// Keeps the keys of an identity provider.
///
/// Keys from a URL are fetched when a token comes, and again for a token that comes when they are old. A key that is not known
/// is asked for at most once a minute, so that nobody can make this server call the provider all the time. While the
/// provider is down, or its file is damaged, the last keys are used.
final class ProviderKeys: Sendable {
    /// Requests wait for new keys if those at hand are older: the provider may have withdrawn one of them.
    static let lifetime = Duration.seconds(3_600)
    /// Keys that are older are fetched again, while requests use them.
    static let refreshAge = Duration.seconds(3_000)
    /// Between the beginnings of two fetches.
    static let pause = Duration.seconds(60)
    /// The same while there are no keys at all.
    static let firstPause = Duration.seconds(10)
    private static let timeout = Duration.seconds(10)

    private struct State {
        var keys: SigningKeys?
        var fetchedAt = Duration.zero
        var attemptedAt: Duration?
        var fetching: Task<Void, Never>?
        /// The file that was read last, whether it could be used or not.
        var stamp: FileStamp?
        var isFailing = false
    }

    private let source: OpenIDConfiguration.Keys
    private let clock: @Sendable () -> Duration
    private let logger: Logger
    private let state = Mutex(State())

    init(_ source: OpenIDConfiguration.Keys, clock: @escaping @Sendable () -> Duration, logger: Logger) {
        self.source = source
        self.clock = clock
        self.logger = logger
    }

    /// The keys to check a token with; they need not have its own.
    ///
    /// - Throws: ``TokenProblem/noKeys`` if none were ever read.
    func keys(for token: JSONWebToken) async throws(TokenProblem) -> SigningKeys {
        switch source {
        case .file(let path): await readIfChanged(path)
        case .url(let url, let http):
            let (keys, age) = state.withLock { [now = clock()] in ($0.keys, now - $0.fetchedAt) }
            let isKnown = keys?.haveKey(for: token) ?? false
            let fetch = fetchIfDue(isKnown: isKnown) { await self.fetch(url, http) }
            if !isKnown || age >= Self.lifetime { await fetch?.value }
        }
        guard let keys = state.withLock({ $0.keys }) else { throw .noKeys }
        return keys
    }

    // MARK: From a URL

    /// Begins a fetch if it is time for one.
    ///
    /// - Returns: The fetch that is under way.
    private func fetchIfDue(isKnown: Bool, _ fetch: @escaping @Sendable () async -> Void) -> Task<Void, Never>? {
        let now = clock()
        return state.withLock { state in
            if let task = state.fetching { return task }
            if isKnown, now - state.fetchedAt < Self.refreshAge { return nil }
            let pause = state.keys == nil ? Self.firstPause : Self.pause
            if let last = state.attemptedAt, now - last < pause { return nil }
            state.attemptedAt = now
            // On its own: the client of one request may leave, and the others wait for the keys as well.
            let task = Task { await fetch() }
            state.fetching = task
            return task
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
            // The operator's own address, often one of the operator's network.
            addresses: .any
        )
        do {
            let reply = try await http.send(request)
            guard reply.status == 200 else { throw SigningKeysProblem(description: "the reply is \(reply.status)") }
            let keys = try await SigningKeys(reply.body)
            let now = clock()
            state.withLock { state in
                state.keys = keys
                state.fetchedAt = now
            }
            note(nil)
        } catch {
            note(error)
        }
        state.withLock { $0.fetching = nil }
    }

    // MARK: From a file

    private func readIfChanged(_ path: String) async {
        let stamp = FileStamp(path)
        let isNew = state.withLock { state in
            let isNew = state.keys == nil || state.stamp != stamp
            state.stamp = stamp
            return isNew
        }
        guard isNew else { return }
        do {
            let keys = try await SigningKeys(try PrivateFile.bytes(path, limit: SigningKeys.maximumBytes))
            state.withLock { $0.keys = keys }
            note(nil)
        } catch {
            // The same file may be read the next time.
            state.withLock { $0.stamp = nil }
            note(error)
        }
    }

    /// Logs the first of several failures.
    private func note(_ error: (any Error)?) {
        let isFirst = state.withLock { state in
            defer { state.isFailing = error != nil }
            return !state.isFailing
        }
        guard let error, isFirst else { return }
        logger.warning("the identity provider's keys cannot be read", metadata: ["error.reason": "\(error)"])
    }
}
