import FairShares
import NIOCore
import NetworkAddresses
import Synchronization

/// Limits the number of open connections, and of those that have not yet presented a token.
///
/// A connection that has sent a request with a valid token is *proven*, and its client's network is known from then on;
/// some places for unproven connections are kept for known networks. When all places are taken, the network with the
/// most connections gives way. Clients that cannot be distinguished, such as those of this machine and of the operator's
/// proxies, are one group, in which only a connection that has been silent for a while gives way.
final class ConnectionQuota: Sendable {
    /// Maximum number of networks that are known.
    private static let maximumKnown = 16_384

    /// A connection and the time at which it was counted; connections are compared by their channels.
    fileprivate struct Place: Sendable, Hashable {
        let channel: any Channel
        var enteredAt = Duration.zero
        /// `nil` for a client that cannot be distinguished from others.
        var network: NetworkGroup?

        static func == (one: Place, other: Place) -> Bool { one.channel === other.channel }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(channel)) }
    }

    fileprivate struct State: Sendable {
        var open: SharedPlaces<Place>
        var unproven: SharedPlaces<Place>
        var known = KnownNetworks(limit: maximumKnown)
    }

    private let limits: ConnectionLimits
    private let grouping: ClientGrouping
    private let clock: @Sendable () -> Duration
    private let state: Mutex<State>

    init(_ limits: ConnectionLimits, grouping: ClientGrouping, clock: @escaping @Sendable () -> Duration) {
        self.limits = limits
        self.grouping = grouping
        self.clock = clock
        state = Mutex(
            State(
                open: SharedPlaces(places: limits.open, kept: 0),
                unproven: SharedPlaces(places: limits.unproven, kept: limits.unprovenOfKnown)
            )
        )
    }

    /// Counts a connection until it is closed; its client's `address` is `nil` for one of many that cannot be
    /// distinguished.
    ///
    /// - Returns: True if there is a place for it; otherwise it must be closed.
    func enter(_ channel: any Channel, from address: NetworkAddress?) -> Bool {
        let network = address.flatMap { grouping.isEverybody($0) ? nil : NetworkGroup.client($0) }
        let place = Place(channel: channel, enteredAt: clock(), network: network)
        let groups = [grouping.path(of: address)]
        let (isIn, displaced) = state.withLock { $0.enter(place, groups, limits) }
        for connection in displaced { connection.channel.close(promise: nil) }
        if isIn { channel.closeFuture.whenComplete { _ in self.leave(channel) } }
        return isIn
    }

    /// Counts a connection for another client than before: a TCP balancer has named it.
    ///
    /// - Returns: False if it must be closed.
    func reenter(_ channel: any Channel, from address: NetworkAddress?) -> Bool {
        leave(channel)
        return enter(channel, from: address)
    }

    /// Records that a connection, or the connection of an HTTP/2 stream, has sent a valid token.
    func prove(_ channel: any Channel) {
        state.withLock { state in
            if state.prove(channel) { return }
            if let parent = channel.parent { _ = state.prove(parent) }
        }
    }

    private func leave(_ channel: any Channel) { state.withLock { $0.leave(Place(channel: channel)) } }

    /// Number of open connections, and of unproven ones among them.
    var counts: (open: Int, unproven: Int) { state.withLock { ($0.open.count, $0.unproven.count) } }
}

extension ConnectionQuota.State {
    /// - Returns: True if there is a place, and the connections that must be closed for it.
    fileprivate mutating func enter(
        _ place: ConnectionQuota.Place,
        _ groups: [[ShareGroup]],
        _ limits: ConnectionLimits
    ) -> (isIn: Bool, displaced: [ConnectionQuota.Place]) {
        var displaced: [ConnectionQuota.Place] = []
        let isKnown = place.network.map { known.contains($0) } ?? false
        let entry = unproven.enter(place, in: groups, isKnown: isKnown) { member, relation in
            let age = place.enteredAt - member.enteredAt
            return switch relation {
            case .larger: true
            case .equal: age >= limits.unprovenGraceOfOthers
            case .own: age >= limits.unprovenGrace
            }
        }
        switch entry {
        case .refused: return (false, [])
        case .displaced(let member):
            leave(member)
            displaced.append(member)
        case .free: break
        }
        // An open stream is ended only for a client with fewer connections.
        switch open.enter(place, in: groups, isExpendable: true, displaces: { $1 == .larger }) {
        case .refused:
            unproven.remove(place)
            return (false, displaced)
        case .displaced(let member):
            leave(member)
            displaced.append(member)
        case .free: break
        }
        return (true, displaced)
    }

    fileprivate mutating func leave(_ place: ConnectionQuota.Place) {
        open.remove(place)
        unproven.remove(place)
    }

    /// - Returns: False for a connection that is not counted.
    fileprivate mutating func prove(_ channel: any Channel) -> Bool {
        let place = ConnectionQuota.Place(channel: channel)
        guard open.contains(place) else { return false }
        guard let counted = unproven.remove(place) else { return true }
        open.keep(place)
        if let network = counted.network { known.insert(network) }
        return true
    }
}
