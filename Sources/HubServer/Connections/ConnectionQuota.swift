import NIOCore
import NetworkAddresses
import Synchronization

/// Limits the number of open connections, and of those that have not yet presented a token.
///
/// A connection that has sent a request with a valid token is *proven*. The number of unproven connections from one
/// address is limited. When all places are taken, the oldest unproven connection makes room for a new one, unless all
/// of them are so young that their requests may still be on their way. This machine and the operator's proxies, which
/// represent many clients, have no limit of their own.
final class ConnectionQuota: Sendable {
    fileprivate struct Stranger {
        let channel: any Channel
        let number: Int
        let address: AddressGroup?
    }

    fileprivate struct Arrival {
        let id: ObjectIdentifier
        let number: Int
        let at: Duration
    }

    fileprivate struct State {
        var open = 0
        var openByAddress: [AddressGroup: Int] = [:]
        var strangers: [ObjectIdentifier: Stranger] = [:]
        var strangersByAddress: [AddressGroup: Int] = [:]
        /// In order of arrival, including connections that are proven or closed.
        var arrivals: [Arrival] = []
        var firstArrival = 0
        var number = 0
    }

    private let limits: ConnectionLimits
    private let clock: @Sendable () -> Duration
    private let state = Mutex(State())

    init(_ limits: ConnectionLimits, clock: @escaping @Sendable () -> Duration) {
        self.limits = limits
        self.clock = clock
    }

    /// Counts a connection until it is closed; an `address` of `nil` has no limit of its own.
    ///
    /// - Returns: True if there is a place for it; otherwise it must be closed.
    func enter(_ channel: any Channel, from address: NetworkAddress?) -> Bool {
        let group = address.map(AddressGroup.init)
        let (id, now) = (ObjectIdentifier(channel), clock())
        let (isIn, displaced) = state.withLock { state -> (Bool, (any Channel)?) in
            guard state.open < limits.open else { return (false, nil) }
            if let group {
                guard state.openByAddress[group, default: 0] < limits.openPerAddress,
                    state.strangersByAddress[group, default: 0] < limits.unprovenPerAddress
                else { return (false, nil) }
            }
            var displaced: (any Channel)?
            if state.strangers.count >= limits.unproven {
                guard let oldest = state.removeOldest(notAfter: now - limits.unprovenGrace) else {
                    return (false, nil)
                }
                displaced = oldest
            }
            state.add(channel, id, group, at: now)
            return (true, displaced)
        }
        displaced?.close(promise: nil)
        if isIn { channel.closeFuture.whenComplete { _ in self.leave(id, group) } }
        return isIn
    }

    /// Records that a connection, or the connection of an HTTP/2 stream, has sent a valid token.
    func prove(_ channel: any Channel) {
        state.withLock { state in
            if state.removeStranger(ObjectIdentifier(channel)) { return }
            if let parent = channel.parent { _ = state.removeStranger(ObjectIdentifier(parent)) }
        }
    }

    private func leave(_ id: ObjectIdentifier, _ group: AddressGroup?) {
        state.withLock { state in
            _ = state.removeStranger(id)
            state.open -= 1
            if let group { state.openByAddress.decrease(group) }
        }
    }

    /// Number of open connections, and of unproven ones among them.
    var counts: (open: Int, unproven: Int) { state.withLock { ($0.open, $0.strangers.count) } }
}

extension ConnectionQuota.State {
    fileprivate mutating func add(_ channel: any Channel, _ id: ObjectIdentifier, _ group: AddressGroup?, at: Duration)
    {
        number += 1
        open += 1
        strangers[id] = .init(channel: channel, number: number, address: group)
        arrivals.append(.init(id: id, number: number, at: at))
        if let group {
            openByAddress[group, default: 0] += 1
            strangersByAddress[group, default: 0] += 1
        }
        forgetArrivals()
    }

    fileprivate mutating func removeStranger(_ id: ObjectIdentifier) -> Bool {
        guard let stranger = strangers.removeValue(forKey: id) else { return false }
        if let address = stranger.address { strangersByAddress.decrease(address) }
        return true
    }

    /// The oldest unproven connection, if it arrived no later than an instant.
    fileprivate mutating func removeOldest(notAfter instant: Duration) -> (any Channel)? {
        while firstArrival < arrivals.count {
            let arrival = arrivals[firstArrival]
            if let stranger = strangers[arrival.id], stranger.number == arrival.number {
                guard arrival.at <= instant else { return nil }
                _ = removeStranger(arrival.id)
                firstArrival += 1
                return stranger.channel
            }
            firstArrival += 1
        }
        return nil
    }

    /// Occasionally removes arrivals of connections that are no longer unproven.
    private mutating func forgetArrivals() {
        guard arrivals.count > 64, arrivals.count > 2 * strangers.count else { return }
        arrivals = arrivals[firstArrival...].filter { strangers[$0.id]?.number == $0.number }
        firstArrival = 0
    }
}

extension [AddressGroup: Int] {
    fileprivate mutating func decrease(_ group: AddressGroup) {
        guard let count = self[group] else { return }
        self[group] = count > 1 ? count - 1 : nil
    }
}
