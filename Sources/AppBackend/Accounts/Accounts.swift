import HubProtocol

/// The accounts of an app backend's store, for its operator; a server may use the store meanwhile.
package struct Accounts: Sendable {
    /// How long the name of a removed account stays taken: nobody else should get notifications that senders still
    /// address to its former owner.
    package static let nameRetention = Duration.seconds(30 * 86_400)

    let store: BackendStore
    private let hasher: PasswordHasher
    private let clock: BackendClock

    package init(store: BackendStore, hasher: PasswordHasher = PasswordHasher(), clock: BackendClock = .system) {
        self.store = store
        self.hasher = hasher
        self.clock = clock
    }

    /// Adds an account.
    ///
    /// - Throws: ``AccountError`` when the name is taken.
    package func add(_ name: UserName, password: Password, mayNotifyOthers: Bool = false) async throws {
        // Before the hash, which takes a while.
        try await checkFree(name)
        let hash = try await hasher.hash(password)
        try await store.insertAccount(name, hash, mayNotifyOthers: mayNotifyOthers, at: clock.now())
    }

    /// Tells whether an account can be added under a name.
    ///
    /// - Throws: ``AccountError`` when the name is taken.
    package func checkFree(_ name: UserName) async throws { try await store.checkFree(name, at: clock.now()) }

    /// Replaces a password; ends remembered sign-ins and revokes all tokens, in running servers too.
    ///
    /// - Throws: ``AccountError/unknown`` when there is no such account.
    package func setPassword(of name: UserName, to password: Password) async throws {
        guard try await store.account(named: name) != nil else { throw AccountError.unknown(name) }
        let hash = try await hasher.hash(password)
        try await store.setPassword(of: name, to: hash, at: clock.now())
    }

    /// Lets a user notify others, or no longer.
    ///
    /// - Throws: ``AccountError/unknown`` when there is no such account.
    package func setRights(of name: UserName, mayNotifyOthers: Bool) async throws {
        try await store.setRights(of: name, mayNotifyOthers: mayNotifyOthers, at: clock.now())
    }

    /// Removes an account with its tokens; the name stays taken for ``nameRetention``.
    ///
    /// - Throws: ``AccountError/unknown`` when there is no such account.
    package func remove(_ name: UserName) async throws {
        try await store.removeAccount(name, at: clock.now())
    }

    /// The account that has a name.
    package func account(named name: UserName) async throws -> Account? { try await store.account(named: name) }

    /// Every account, by name.
    package func list() async throws -> [Account] { try await store.accounts() }

    /// The valid tokens of a user, the oldest first.
    ///
    /// - Throws: ``AccountError/unknown`` when there is no such account.
    package func tokens(of name: UserName) async throws -> [TokenRecord] {
        guard try await store.account(named: name) != nil else { throw AccountError.unknown(name) }
        return try await store.tokens(of: name, at: clock.now())
    }

    /// Revokes one of a user's tokens, in running servers too.
    ///
    /// - Throws: ``AccountError/unknown`` or ``AccountError/noToken``.
    package func revokeToken(_ id: Int64, of name: UserName) async throws {
        guard try await store.account(named: name) != nil else { throw AccountError.unknown(name) }
        guard try await store.revokeToken(id, of: name, at: clock.now()) else {
            throw AccountError.noToken(id, of: name)
        }
    }

    /// The last events of the audit log, of one user or of all, the oldest first.
    package func audit(of name: UserName? = nil, limit: Int) async throws -> [AuditRecord] {
        try await store.audit(of: name, limit: limit)
    }
}
