import HubProtocol
import Synchronization

/// Signs for one hub and keeps the token while it is good.
final class TokenSource: Sendable {
    private struct Token {
        let text: String
        let expiresAt: Int64
    }

    private let resource: String
    private let connection: ConnectionString
    private let current = Mutex<Token?>(nil)

    init(resource: String, connection: ConnectionString) {
        self.resource = resource
        self.connection = connection
    }

    /// A token that is good for another ``minimumRest`` at least; `now` is in seconds since 1970.
    ///
    /// When the clock was set back, a token that now seems to last longer than any we sign is replaced.
    func token(now: Int64) -> String {
        current.withLock { current in
            if let current, (Self.minimumRest...Self.lifetimes.upperBound).contains(current.expiresAt - now) {
                return current.text
            }
            let expiresAt = now + Int64.random(in: Self.lifetimes)
            let text = SharedAccessToken.sign(
                resource: resource,
                keyName: connection.keyName,
                key: connection.key,
                expiresAt: expiresAt
            )
            current = Token(text: text, expiresAt: expiresAt)
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
