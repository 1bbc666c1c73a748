package import NIOCore
import Synchronization

/// Limits the number of a server's open connections.
///
/// A connection costs its client nothing while its request has not arrived, or while the body of an answered request
/// goes on. Such connections must not keep out a client with a request: when all places are taken, the oldest of them
/// is closed.
package final class ConnectionPlaces: Sendable {
    /// The state of a connection, from those closed first to those never closed to make room.
    package enum Phase: Int, Sendable {
        /// The head of its next request has not arrived completely.
        case waiting
        /// Its request was answered, and its body continues.
        case answered
        /// Its request is being processed.
        case busy
    }

    private struct Place: Sendable {
        let channel: any Channel
        var phase: Phase
        /// Order in which the phases began.
        var since: UInt64
    }

    private struct State {
        var places: [ObjectIdentifier: Place] = [:]
        var changes: UInt64 = 0
        var isClosed = false
    }

    private let maximum: Int
    private let state = Mutex(State())

    /// - Parameter maximum: Maximum number of connections, at least 1.
    package init(maximum: Int) { self.maximum = maximum }

    /// Number of open connections.
    package var count: Int { state.withLock { $0.places.count } }

    /// Gives a new connection a place until it is closed; if all are taken, closes another connection.
    ///
    /// - Parameters:
    ///   - channel: The connection.
    ///   - phase: Its first phase; ``Phase/busy`` for a connection that is never closed to make room.
    /// - Returns: False if no other can be closed, or after ``close()``; the caller then closes the new one.
    package func enter(_ channel: any Channel, _ phase: Phase = .waiting) -> Bool {
        let id = ObjectIdentifier(channel)
        let (isIn, closed) = state.withLock { state -> (Bool, (any Channel)?) in
            guard !state.isClosed else { return (false, nil) }
            var oldest: (key: ObjectIdentifier, value: Place)?
            if state.places.count >= maximum {
                oldest = state.places.filter { $0.value.phase != .busy }.min {
                    ($0.value.phase.rawValue, $0.value.since) < ($1.value.phase.rawValue, $1.value.since)
                }
                guard let oldest else { return (false, nil) }
                state.places[oldest.key] = nil
            }
            state.changes += 1
            state.places[id] = Place(channel: channel, phase: phase, since: state.changes)
            return (true, oldest?.value.channel)
        }
        closed?.close(promise: nil)
        if isIn { channel.closeFuture.whenComplete { _ in self.state.withLock { $0.places[id] = nil } } }
        return isIn
    }

    /// Records the beginning of a connection's next phase.
    package func move(_ channel: any Channel, to phase: Phase) {
        state.withLock { state in
            state.changes += 1
            state.places[ObjectIdentifier(channel)]?.phase = phase
            state.places[ObjectIdentifier(channel)]?.since = state.changes
        }
    }

    /// Refuses further connections.
    ///
    /// - Returns: The open ones.
    package func close() -> [any Channel] {
        state.withLock { state in
            state.isClosed = true
            return state.places.values.map(\.channel)
        }
    }
}
