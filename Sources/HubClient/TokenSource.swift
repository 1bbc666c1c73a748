import HubProtocol
import Synchronization

/// Signs tokens for one hub, and reuses a token while it is valid.
final class TokenSource: Sendable {
    private struct Token {
        let text: String
        let expiresAt: Int64
    }

    private let resource: String
    private let connection: ConnectionString
    private let current = Mutex<Token?>(nil)

    /// `resource` is the address that tokens are valid for, with all below it.
    init(resource: String, connection: ConnectionString) {
        self.resource = resource
        self.connection = connection
    }

    /// Returns a token that is valid for at least ``minimumRest``; `now` is in seconds since 1970.
    ///
    /// After the clock was set back, a token that seems to last longer than any token made here is replaced.
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

    /// The lifetime of a token in seconds; at least an hour, as in most SDKs (protocol §1.3).
    ///
    /// A hub ends a stream when the token that opened it expires. The lifetime is random, so that agents that
    /// connected together do not all reconnect in the same second.
    static let lifetimes: ClosedRange<Int64> = 3_600...5_400

    /// Seconds; longer than the difference of clocks and the duration of requests.
    private static let minimumRest: Int64 = 900
}
