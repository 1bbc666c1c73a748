import Crypto
import Foundation
import Signals
import Synchronization

/// Recently checked passwords, so that Basic credentials do not cost a derivation with every request.
///
/// Neither passwords nor their hashes are kept: the key of an entry is an HMAC with a random key of this process.
/// Callers must ask the store whether the account still has the password.
final class RememberedSignIns: Sendable {
    /// An HMAC of a name and password.
    typealias Mark = [UInt8]

    struct Entry: Sendable, Equatable {
        let accountID: Int64
        let version: Int64
    }

    static let lifetime = Duration.seconds(300)
    /// The largest number of entries, about 1 MB.
    static let maximumEntries = 4_096

    private struct Stored {
        let entry: Entry
        let expiresAt: Duration
    }

    private let key = SymmetricKey(size: .bits256)
    private let clock: @Sendable () -> Duration
    private let table = Mutex(BoundedTable<Mark, Stored>(maximumCount: maximumEntries))

    init(clock: @escaping @Sendable () -> Duration) { self.clock = clock }

    func mark(of login: PasswordLogin) -> Mark {
        // A name contains no colon, so this text is unambiguous.
        Array(HMAC<SHA256>.authenticationCode(for: Array("\(login.name.key):".utf8) + login.password.bytes, using: key))
    }

    /// An HMAC of a password, the same for all users.
    func mark(ofPassword password: Password) -> Mark {
        // Unlike that of a name and password, this text begins with a colon.
        Array(HMAC<SHA256>.authenticationCode(for: Array(":".utf8) + password.bytes, using: key))
    }

    /// The entry of a password; `nil` if it was not checked recently.
    func entry(_ mark: Mark) -> Entry? {
        let now = clock()
        return table.withLock { table in
            guard let stored = table[mark] else { return nil }
            guard now < stored.expiresAt else {
                table[mark] = nil
                return nil
            }
            return stored.entry
        }
    }

    func remember(_ mark: Mark, _ account: Account) {
        let now = clock()
        let entry = Entry(accountID: account.id, version: account.version)
        // The entry that expires first is dropped when the table is full.
        table.withLock { $0[mark] = Stored(entry: entry, expiresAt: now + Self.lifetime) }
    }

    func forget(_ mark: Mark) { table.withLock { $0[mark] = nil } }

    var count: Int { table.withLock { $0.count } }
}
