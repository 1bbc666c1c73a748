import Crypto
import Foundation
import HubProtocol
import HubTestServer
import Logging
import NetworkAddresses
import Synchronization
import Testing
import WebEdge

@testable import AppBackend

/// Clocks that stand still until a test moves them.
final class AccountClock: Sendable {
    private let reading = Mutex((wall: Timestamp(milliseconds: 1_900_000_000_000), monotonic: Duration.seconds(50)))

    var now: Timestamp { reading.withLock { $0.wall } }

    var clock: BackendClock {
        BackendClock(now: { self.now }, monotonic: { self.reading.withLock { $0.monotonic } })
    }

    func advance(by time: Duration) {
        reading.withLock { reading in
            reading.wall = reading.wall + time
            reading.monotonic += time
        }
    }

    /// Sets the wall clock alone, as an administrator does.
    func jump(by time: Duration) { reading.withLock { $0.wall = $0.wall + time } }
}

/// Derives keys fast, counts how often, and holds them back while its gate is shut.
final class FakeScrypt: Sendable {
    struct Call: Sendable {
        let password: String
        let salt: [UInt8]
        let parameters: ScryptParameters
    }

    private struct Running {
        var now = 0
        var most = 0
    }

    let calls = Counter<Call>()
    private let running = Mutex(Running())
    private let gate: Gate?

    init(gate: Gate? = nil) { self.gate = gate }

    /// The most derivations that ever ran at the same time.
    var mostAtOnce: Int { running.withLock { $0.most } }

    var derivation: PasswordHash.Derivation {
        { password, salt, parameters in
            self.running.withLock { running in
                running.now += 1
                running.most = max(running.most, running.now)
            }
            defer { self.running.withLock { $0.now -= 1 } }
            let call = Call(password: String(decoding: password, as: UTF8.self), salt: salt, parameters: parameters)
            self.calls.append(call)
            self.gate?.blockUntilOpen()
            return Array(SHA256.hash(data: password + [0] + salt))
        }
    }
}

/// A store of accounts with a server's sign-in, and, on a connection of its own as another process has, an operator's
/// accounts.
struct SignInBench: Sendable {
    static let home = network("192.0.2.7")
    static let elsewhere = network("198.51.100.7")
    static let cheap = ScryptParameters(rounds: 2, blockSize: 1, parallelism: 1)
    static let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

    let folder: ScratchFolder
    let clock = AccountClock()
    let store: BackendStore
    let audit: AuditLog
    /// What checks passwords for ``signIn``.
    let scrypt: FakeScrypt
    let signIn: SignIn
    /// What an operator does meanwhile.
    let operatorAccounts: Accounts

    init(gate: Gate? = nil, parameters: ScryptParameters = cheap) throws {
        folder = try ScratchFolder()
        store = try TestStore.open(folder.file("backend.sqlite"))
        audit = AuditLog(store: store, clock: clock.clock, logger: Self.quiet)
        scrypt = FakeScrypt(gate: gate)
        signIn = SignIn(
            store: store,
            audit: audit,
            hasher: PasswordHasher(parameters: parameters, derive: scrypt.derivation),
            clock: clock.clock
        )
        operatorAccounts = Accounts(
            store: try TestStore.open(folder.file("backend.sqlite")),
            hasher: PasswordHasher(parameters: Self.cheap, derive: FakeScrypt().derivation),
            clock: clock.clock
        )
    }

    static func network(_ address: String) -> ClientNetwork { ClientNetwork(NetworkAddress(address)) }

    /// An attempt that is not counted with others.
    static func attempt(
        _ user: String = "alice",
        _ network: ClientNetwork = home,
        password: [UInt8] = [1],
        isKnown: Bool = false
    ) throws -> SignInAttempt {
        SignInAttempt(user: try #require(UserName(user)), network: network, password: password, isKnown: isKnown)
    }

    static func basic(_ name: String, _ password: String) -> String {
        "Basic \(Data("\(name):\(password)".utf8).base64EncodedString())"
    }

    func add(_ name: String, _ password: String = "correct horse", mayNotifyOthers: Bool = false) async throws {
        try await operatorAccounts.add(
            try #require(UserName(name)),
            password: try Password(new: password),
            mayNotifyOthers: mayNotifyOthers
        )
    }

    /// Signs in with a password.
    func caller(
        _ name: String,
        _ password: String = "correct horse",
        from network: ClientNetwork = home
    ) async throws -> Caller {
        try await signIn.caller(authorization: Self.basic(name, password), network: network)
    }

    /// Signs in with a token.
    func caller(token: String) async throws -> Caller {
        try await signIn.caller(authorization: "Bearer \(token)", network: Self.home)
    }

    func logIn(_ name: String, _ password: String = "correct horse", device: String? = nil) async throws -> String {
        let login = try #require(PasswordLogin(name: name, password: password))
        return try await signIn.logIn(login, device: device, Self.home).token.text
    }

    /// Everything in the audit log, written or not.
    func auditRecords() async throws -> [AuditRecord] {
        await audit.flush()
        return try await store.audit(of: nil, limit: .max)
    }
}
