import HubProtocol
import Signals

/// Limits the number of expensive requests of one kind that a hub works on at once; others wait in order of arrival.
typealias RequestTurns = TurnQueue<SingleKey>

extension TurnQueue<SingleKey> {
    /// Maximum number of waiting requests.
    static let maximumWaitingRequests = 64

    /// Creates turns for one kind of request; too many waiting ones are refused with 429.
    ///
    /// - Parameters:
    ///   - kind: Names the requests in a refusal: "requests for outcomes of messages".
    ///   - maximumRunning: Number of requests that are worked on at once, at least 1.
    convenience init(_ kind: String, atOnce maximumRunning: Int = 1) {
        self.init(atOnce: maximumRunning, maximumWaiting: Self.maximumWaitingRequests) {
            ProtocolError.tooManyRequests(
                "\(Self.maximumWaitingRequests) \(kind) are waiting, which is the maximum; try again later."
            )
        }
    }
}
