import HubProtocol

/// The accounts of an app backend, for its operator; a server may use the store at the same time.
package struct Accounts: Sendable {
    /// The time for which the name of a removed account stays reserved.
    ///
    /// Senders may still address its former owner; a new owner must not get those notifications.
    package static let nameRetention = Duration.seconds(30 * 86_400)
    /// The largest number of accounts of users whom other parties sign in; they are created without an operator.
    static let maximumForeign = 100_000

    let store: BackendStore
    /// Name suffixes that accounts with a password cannot have.
    private let foreignSuffixes: [NameSuffix]
    private let hasher: PasswordHasher
    private let clock: BackendClock

    package init(
        store: BackendStore,
        foreignSuffixes: [NameSuffix] = [],
        hasher: PasswordHasher = PasswordHasher(),
        clock: BackendClock = .system
    ) {
        self.store = store
        self.foreignSuffixes = foreignSuffixes
        self.hasher = hasher
        self.clock = clock
    }

    /// Adds an account.
    ///
    /// - Throws: ``AccountError`` when the name is taken.
    package func add(
        _ name: UserName,
        password: Password,
        mayNotifyOthers: Bool = false,
        roles: Set<Role> = []
    ) async throws {
        guard roles.count <= Role.maximumPerAccount else { throw AccountError.tooManyRoles(name) }
        // Before the hash, which is slow.
        try await checkFree(name)
        let hash = try await hasher.hash(password)
        try await store.insertAccount(name, hash, mayNotifyOthers: mayNotifyOthers, roles: roles, at: clock.now())
    }

    /// Checks that an account can be created with a name.
    ///
    /// - Throws: ``AccountError`` when the name is taken, or reserved for users whom another party signs in.
    package func checkFree(_ name: UserName) async throws {
        if let suffix = foreignSuffixes.first(where: { $0.ends(name) }) { throw AccountError.reserved(name, suffix) }
        try await store.checkFree(name, at: clock.now())
    }

    /// Replaces a password; ends remembered sign-ins and revokes all tokens, in running servers too.
    ///
    /// - Throws: ``AccountError/unknown`` when there is no such account, ``AccountError/foreign(_:)``.
    package func setPassword(of name: UserName, to password: Password) async throws {
        try await checkPassword(of: name)
        let hash = try await hasher.hash(password)
        try await store.setPassword(of: name, to: hash, at: clock.now())
    }

    /// Checks that a user has a password.
    ///
    /// - Throws: ``AccountError/unknown`` when there is no such account, ``AccountError/foreign(_:)``.
    package func checkPassword(of name: UserName) async throws {
        guard let account = try await store.account(named: name) else { throw AccountError.unknown(name) }
        if account.identity != nil { throw AccountError.foreign(name) }
    }

    /// Changes a user's rights: to notify others, to use the desk, and roles.
    ///
    /// - Throws: ``AccountError/unknown`` when there is no such account, ``AccountError/tooManyRoles(_:)``.
    package func setRights(
        of name: UserName,
        mayNotifyOthers: Bool? = nil,
        mayUseDesk: Bool? = nil,
        adding: Set<Role> = [],
        removing: Set<Role> = []
    ) async throws {
        let change = RightsChange(
            mayNotifyOthers: mayNotifyOthers,
            mayUseDesk: mayUseDesk,
            added: adding,
            removed: removing
        )
        try await store.changeRights(of: name, change, at: clock.now())
    }

    /// Removes an account with its tokens; the name stays reserved for ``nameRetention``.
    ///
    /// - Throws: ``AccountError/unknown`` when there is no such account.
    package func remove(_ name: UserName) async throws {
        try await store.removeAccount(name, at: clock.now())
    }

    package func account(named name: UserName) async throws -> Account? { try await store.account(named: name) }

    /// All accounts, sorted by name.
    package func list() async throws -> [Account] { try await store.accounts() }

    /// The valid tokens of a user, oldest first.
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

    /// The latest events of the audit log, for one user or all users, oldest first.
    package func audit(of name: UserName? = nil, limit: Int) async throws -> [AuditRecord] {
        try await store.audit(of: name, limit: limit)
    }
}
