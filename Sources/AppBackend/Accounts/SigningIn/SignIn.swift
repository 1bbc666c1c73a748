import HubProtocol
import Signals
package import WebEdge

/// Finds the user who makes a request.
///
/// Every check reads the store, so that an old password and a revoked token are refused at once, even if another
/// process made the change.
package final class SignIn: Sendable {
    private struct Flight: Hashable {
        let mark: RememberedSignIns.Mark
        let network: ClientNetwork
        let isKnownDevice: Bool
    }

    private let store: BackendStore
    private let hasher: PasswordHasher
    private let audit: AuditLog
    private let clock: BackendClock
    /// Roles whose users may notify others.
    private let mayNotifyRoles: Set<Role>
    /// The identity provider; `nil` if no provider's tokens are accepted.
    private let provider: OpenIDProvider?
    private let guesses: GuessLimiter
    private let remembered: RememberedSignIns
    /// Passwords that are being checked: simultaneous requests with the same password share one check.
    private let flights = SingleFlight<Flight, Account>()

    package init(
        store: BackendStore,
        audit: AuditLog,
        hasher: PasswordHasher = PasswordHasher(),
        clock: BackendClock = .system,
        mayNotifyRoles: Set<Role> = [],
        provider: OpenIDProvider? = nil
    ) {
        self.store = store
        self.hasher = hasher
        self.audit = audit
        self.clock = clock
        self.mayNotifyRoles = mayNotifyRoles
        self.provider = provider
        guesses = GuessLimiter(clock: clock.monotonic)
        remembered = RememberedSignIns(clock: clock.monotonic)
    }

    /// The user authenticated by an `Authorization` header.
    ///
    /// - Throws: ``SignInRefusal``; a `DatabaseError` or `HostError` for failures of the server.
    package func caller(authorization: String?, network: ClientNetwork) async throws -> Caller {
        switch PresentedCredentials(header: authorization) {
        case .none: throw SignInRefusal.noCredentials
        case .unusable: throw SignInRefusal.wrongCredentials
        case .token(let token): try await caller(account(token, network))
        case .foreignToken(let text): try await caller(of: foreignUser(text, network), network)
        case .password(let login): try await caller(account(login, network))
        }
    }

    private func caller(_ account: Account, roles: Set<Role> = []) -> Caller {
        let mayNotify = !mayNotifyRoles.isDisjoint(with: account.roles.union(roles))
        return Caller(
            name: account.name,
            mayNotifyOthers: account.mayNotifyOthers || mayNotify,
            mayUseDesk: account.mayUseDesk
        )
    }

    // MARK: Users of other parties

    /// The caller of a request whose user another party has signed in; creates the account at the first request.
    ///
    /// - Throws: ``SignInRefusal``; a `DatabaseError` for failures of the server.
    func caller(of user: ForeignUser, _ network: ClientNetwork) async throws -> Caller {
        do {
            let account =
                if let known = try await store.account(of: user.identity) {
                    known
                } else {
                    try await store.insertAccount(of: user, limit: Accounts.maximumForeign, network, at: clock.now())
                }
            return caller(account, roles: user.roles)
        } catch let error as AccountError {
            switch error {
            case .retained(let name, _), .devicesLeft(let name):
                audit.note(AuditEvent(name, .signIn, .refused, network))
                throw SignInRefusal.removed
            default: throw SignInRefusal.noRoom
            }
        }
    }

    private func foreignUser(_ text: String, _ network: ClientNetwork) async throws(SignInRefusal) -> ForeignUser {
        guard let provider else {
            audit.note(AuditEvent(nil, .token, .refused, network))
            throw .wrongToken
        }
        do {
            return try await provider.user(text)
        } catch {
            if case .noKeys = error { throw .providerUnavailable }
            audit.note(AuditEvent(nil, .token, .refused, network))
            throw .wrongToken
        }
    }

    /// Exchanges a password for a token.
    ///
    /// - Parameters:
    ///   - login: The name and password.
    ///   - device: The user's name for the device, shown in lists of tokens.
    ///   - network: The client's network.
    ///   - former: A token that the client also presents: if it is the user's, the device is known.
    ///   - isKnownDevice: True if the user has signed in on this device before.
    /// - Returns: The token.
    /// - Throws: As ``caller(authorization:network:)``.
    func logIn(
        _ login: PasswordLogin,
        device: String?,
        _ network: ClientNetwork,
        former: AccessToken? = nil,
        isKnownDevice: Bool = false
    ) async throws -> IssuedToken {
        var isKnownDevice = isKnownDevice
        if !isKnownDevice, let former, let (owner, _) = try await store.account(token: former, at: clock.now()) {
            isKnownDevice = owner.name.key == login.name.key
        }
        let account = try await account(login, network, isKnownDevice: isKnownDevice)
        let token = AccessToken.random()
        let now = clock.now()
        guard try await store.insertToken(token, of: account, device: device, network, at: now) else {
            throw SignInRefusal.wrongCredentials
        }
        return IssuedToken(token: token, expiresAt: now + AccessToken.lifetime)
    }

    /// Revokes a token that a client presents.
    ///
    /// - Throws: ``SignInRefusal/wrongToken`` if it is not valid.
    func logOut(_ token: AccessToken, _ network: ClientNetwork) async throws {
        guard try await store.revoke(token, network, at: clock.now()) else { throw SignInRefusal.wrongToken }
    }

    // MARK: Tokens

    private func account(_ token: AccessToken, _ network: ClientNetwork) async throws -> Account {
        let now = clock.now()
        guard let (account, use) = try await store.account(token: token, at: now) else {
            audit.note(AuditEvent(nil, .token, .refused, network))
            throw SignInRefusal.wrongToken
        }
        if now - use.lastAt >= TokenUse.precision {
            // The token is valid even if this cannot be written.
            try? await store.noteUse(of: use.tokenID, at: now)
        }
        return account
    }

    // MARK: Passwords

    private func account(
        _ login: PasswordLogin,
        _ network: ClientNetwork,
        isKnownDevice: Bool = false
    ) async throws -> Account {
        let mark = remembered.mark(of: login)
        if let account = try await remembered(mark) { return account }
        let flight = Flight(mark: mark, network: network, isKnownDevice: isKnownDevice)
        return try await flights.value(flight) { try await self.check(login, flight) }
    }

    /// The account of a password that was checked recently and is still valid.
    private func remembered(_ mark: RememberedSignIns.Mark) async throws -> Account? {
        guard let entry = remembered.entry(mark) else { return nil }
        let account = try await store.account(entry.accountID, version: entry.version)
        if account == nil { remembered.forget(mark) }
        return account
    }

    private func check(_ login: PasswordLogin, _ flight: Flight) async throws -> Account {
        let (mark, network) = (flight.mark, flight.network)
        // Another check may have finished since this request looked.
        if let account = try await remembered(mark) { return account }
        var isKnown = flight.isKnownDevice
        if !isKnown { isKnown = try await store.hasSignedIn(login.name, from: network) }
        let attempt = SignInAttempt(
            user: login.name,
            network: network,
            password: remembered.mark(ofPassword: login.password),
            isKnown: isKnown
        )
        if case .refused(let wait) = guesses.begin(attempt) {
            audit.note(AuditEvent(nil, .signIn, .slowed, network))
            throw SignInRefusal.tooManyAttempts(retryAfter: wait)
        }
        let verdict: Account?
        let who: UserName?
        do {
            (verdict, who) = try await judge(login, attempt)
        } catch {
            guesses.cancel(attempt)
            throw error is PasswordHasherBusy ? SignInRefusal.overloaded : error
        }
        guard let account = verdict else {
            audit.note(AuditEvent(who, .signIn, .refused, network))
            throw SignInRefusal.wrongCredentials
        }
        guesses.succeed(attempt)
        remembered.remember(mark, account)
        audit.note(AuditEvent(account.name, .signIn, .done, network))
        return account
    }

    /// Checks a password; takes the same time for a name without an account.
    ///
    /// - Returns: The account if the password is right, and the name if the account exists.
    private func judge(_ login: PasswordLogin, _ attempt: SignInAttempt) async throws -> (Account?, UserName?) {
        let stored = try await store.storedPassword(of: login.name)
        let isRight = try await hasher.verify(login.password, stored?.hash, for: attempt)
        guard isRight, let stored else { return (nil, stored?.account.name) }
        if stored.hash.parameters != hasher.parameters, let hash = try? await hasher.hash(login.password) {
            // If this fails, the next sign-in does it.
            try? await store.refreshHash(of: stored.account, hash)
        }
        // The password may have been changed while it was checked.
        let account = try await store.account(stored.account.id, version: stored.account.version)
        return (account, stored.account.name)
    }
}

/// The reasons why a request has no signed-in user.
package enum SignInRefusal: Error, Sendable, Equatable {
    case noCredentials
    /// An unknown user, a wrong password or a malformed header; the client cannot tell which.
    case wrongCredentials
    /// A token that is not valid: unknown, expired or revoked.
    case wrongToken
    /// Too many wrong passwords for this user, with this password or from this network.
    case tooManyAttempts(retryAfter: Duration)
    /// Too many passwords are being checked.
    case overloaded
    /// An operator has removed this user of another party, recently or with devices that are still registered.
    case removed
    /// There are too many accounts of users of other parties.
    case noRoom
    /// The keys of the identity provider are not available yet.
    case providerUnavailable
}
