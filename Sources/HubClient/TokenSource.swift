import HubProtocol
import Synchronization

/// Signs for one hub and keeps the token while it is good.
final class TokenSource: Sendable {
    private struct Token {
        let text: String
        let key: SigningKey
        let expiresAt: Int64
    }

    private let resource: String
    private let key: @Sendable () -> SigningKey?
    private let current = Mutex<Token?>(nil)

    /// - Parameters:
    ///   - resource: The address that tokens are valid for, with all below it.
    ///   - key: Called for each token; `nil` while there is no key.
    init(resource: String, key: @escaping @Sendable () -> SigningKey?) {
        self.resource = resource
        self.key = key
    }

    convenience init(resource: String, connection: ConnectionString) {
        let key = SigningKey(rule: connection.keyName, key: connection.key)
        self.init(resource: resource) { key }
    }

    /// A token that is good for another ``minimumRest`` at least; `now` is in seconds since 1970.
    ///
    /// When the clock was set back, a token that now seems to last longer than any we sign is replaced.
    ///
    /// - Returns: `nil` while there is no key.
    func token(now: Int64) -> String? {
        guard let key = key() else { return nil }
        return current.withLock { current in
            if let current, current.key == key,
                (Self.minimumRest...Self.lifetimes.upperBound).contains(current.expiresAt - now)
            {
                return current.text
            }
            let expiresAt = now + Int64.random(in: Self.lifetimes)
            let text = SharedAccessToken.sign(
                resource: resource,
                keyName: key.rule,
                key: key.key,
                expiresAt: expiresAt
            )
            current = Token(text: text, key: key, expiresAt: expiresAt)
            return text
        }
    }

    /// Seconds; an hour at least, as most SDKs have it (protocol §1.3).
    ///
    /// A hub ends a stream when the token that opened it expires. Each token lasts as long as chance has it, so that
    /// agents that came together do not all return in one second.
    static let lifetimes: ClosedRange<Int64> = 3_600...5_400

    /// Seconds; more than clocks differ and requests last.
    private static let minimumRest: Int64 = 900
}
