import HubProtocol
import Logging
import SQLiteFiles
import WebEdge

/// Texts that never pass through a push service: a push carries an id, and the addressee fetches the text.
package struct SecurePayloads: Sendable {
    /// The largest payload, in bytes.
    static let maximumBytes = 16_384
    /// The time for which a payload can be fetched.
    static let lifetime = Duration.seconds(72 * 3_600)
    /// The largest number of fetches in a minute in which one user finds no payload.
    static let missesLimit = 30
    /// The longest `Retry-After` of a refused payload; there may be room earlier, when the addressee fetches one.
    private static let longestWait = Duration.seconds(3_600)
    private static let busyWait = Duration.seconds(60)

    struct Fetched: Sendable, Equatable {
        let text: String
        /// False for the first fetch.
        let isRead: Bool
    }

    /// A payload that cannot be decrypted with the current key.
    struct Unreadable: Error, CustomStringConvertible {
        let description = "a stored payload cannot be decrypted: the key file has been replaced"
    }

    private let store: BackendStore
    private let box: PayloadBox
    private let bounds: PayloadBounds
    private let clock: BackendClock
    private let logger: Logger
    private let misses: MinuteLimiter<UserName>
    /// The limit of warnings: with a full disk or a lost key every fetch fails.
    private let warnings: MinuteLimiter<Bool>

    init(
        store: BackendStore,
        box: PayloadBox,
        bounds: PayloadBounds = PayloadBounds(),
        clock: BackendClock,
        logger: Logger
    ) {
        self.store = store
        self.box = box
        self.bounds = bounds
        self.clock = clock
        self.logger = logger
        misses = MinuteLimiter(Self.missesLimit, clock: clock.monotonic)
        warnings = MinuteLimiter(1, clock: clock.monotonic)
    }

    /// Stores a payload.
    ///
    /// - Returns: Its id, random in ``PayloadTable/ids``.
    /// - Throws: 413 for a payload that is too large, 429 when the addressee or the sender has too many, 503 when the
    ///   store is full.
    func put(_ text: String, for addressee: UserName, from sender: UserName) async throws -> Int64 {
        guard text.utf8.count <= Self.maximumBytes else {
            throw BackendRefusal.tooLarge("The payload is larger than \(Self.maximumBytes) bytes.")
        }
        let (now, box, bounds) = (clock.now(), box, bounds)
        let place = try await store.changePayloads { table in
            try table.insert(
                for: addressee.key,
                from: sender.key,
                within: bounds,
                now: now,
                expiresAt: now + Self.lifetime
            ) { id in try box.seal(text, id: id, addressee: addressee.key) }
        }
        switch place {
        case .stored(let id): return id
        case .addresseeIsFull(let time):
            throw BackendRefusal.tooManyRequests(
                "This user already has \(bounds.waiting) payloads to fetch.",
                retryAfter: min(time - now, Self.longestWait)
            )
        case .senderIsFull(let time):
            throw BackendRefusal.tooManyRequests(
                "The server already stores \(bounds.ofSender) payloads of yours.",
                retryAfter: min(time - now, Self.longestWait)
            )
        case .storeIsFull:
            throw BackendRefusal.unavailable("No more payloads can be stored now.", retryAfter: Self.busyWait)
        }
    }

    /// Fetches a payload of a user.
    ///
    /// Unused ids, other users' ids and invalid ids go through the same steps. `isRead` is false for a client that does not
    /// get the text, as with HEAD.
    ///
    /// - Returns: `nil` if there is no such payload of this user.
    /// - Throws: 429 for a user who has asked for too many payloads that do not exist.
    func fetch(_ id: Int64, by user: UserName, isRead: Bool = true) async throws -> Fetched? {
        if let wait = misses.wait(user) {
            throw BackendRefusal.tooManyRequests(
                "You have asked for too many notifications that do not exist.",
                retryAfter: wait
            )
        }
        let now = clock.now()
        guard let stored = try await store.readPayloads({ try $0.payload(id, of: user.key, now: now) }) else {
            _ = misses.admit(user)
            return nil
        }
        guard let text = box.open(stored.sealed, id: id, addressee: user.key) else { throw Unreadable() }
        guard isRead, !stored.isRead else { return Fetched(text: text, isRead: stored.isRead) }
        return Fetched(text: text, isRead: try await !markRead(id, of: user))
    }

    /// - Returns: True the first time, and as long as the fetch cannot be recorded: the text must be readable on a full
    ///   disk.
    private func markRead(_ id: Int64, of user: UserName) async throws -> Bool {
        do {
            return try await store.changePayloads { try $0.markRead(id, of: user.key) }
        } catch let error where !(error is CancellationError) {
            if warnings.admit(true) == nil {
                let reason = DatabaseFileError.reason(error)
                logger.warning(
                    "cannot mark fetched payloads as read",
                    metadata: ["error.reason": "\(reason)"]
                )
            }
            return true
        }
    }

    /// Logs, once a minute, that payloads cannot be decrypted.
    func noteUnreadable(_ problem: Unreadable) {
        guard warnings.admit(false) == nil else { return }
        logger.error("a secure notification cannot be delivered", metadata: ["error.reason": "\(problem)"])
    }

    /// Deletes a payload whose id was not sent to any device.
    func discard(_ id: Int64, of addressee: UserName) async throws {
        try await store.changePayloads { try $0.delete(id, of: addressee.key) }
    }
}
