package import HubProtocol

/// A deliberate failure of an emulated service or of one of its devices.
package struct PushFault: Sendable, Equatable {
    package enum Effect: Sendable, Equatable {
        /// The handle will never work again; `since` is the timestamp in the reply of APNs, `nil` for the time of the
        /// request.
        case dead(since: Timestamp? = nil)
        /// The service does not recognize the handle.
        case malformed
        /// A quota is used up: the device's, or the credential's if the fault is the service's.
        case throttled(retryAfter: Duration = PushFault.defaultWait)
        case unavailable(retryAfter: Duration = PushFault.defaultWait)
        case internalError
        /// The reply is correct but late.
        case slow(Duration)
        /// The connection ends with a GOAWAY that says that the request was not processed (RFC 9113 §6.8).
        case goAway
        case badCredential
        /// The handle belongs to another app, project or sender.
        case wrongTopic
        /// WNS accepts the message and drops it; the other services have no such reply and deliver it.
        case dropped
    }

    /// Default for `Retry-After`.
    package static let defaultWait = Duration.seconds(1)

    package let effect: Effect
    /// Number of requests that fail, 1 or more; `nil` for all.
    package let times: Int?

    package init(_ effect: Effect, times: Int? = nil) {
        self.effect = effect
        self.times = times.map { max(1, $0) }
    }

    /// Reads a fault by its name, optionally followed by `-` and a number of times, or of seconds for `slow`.
    ///
    /// `nil` if the text is not a fault.
    package init?(_ text: some StringProtocol) {
        let parts = text.lowercased().split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count <= 2, let fault = FaultMarker.word(parts[0], count: parts.dropFirst().first) else {
            return nil
        }
        self = fault
    }

    /// Returns the same fault with the number of times or seconds after its name; 0 times means always.
    func counted(_ count: Int?) -> PushFault {
        guard let count else { return self }
        if case .slow = effect { return PushFault(.slow(.seconds(count)), times: times) }
        return PushFault(effect, times: count == 0 ? nil : count)
    }
}
