import Synchronization

/// The entries of other nodes that the log has announced, with their content, until this node reads them.
final class AnnouncedEntries: Sendable {
    /// Maximum size of the entries that are kept; a node that is further behind requests them.
    private static let maximumBytes = 8 << 20

    private struct State {
        var entries: [UInt64: [UInt8]] = [:]
        var bytes = 0
        /// The number of the newest entry; 0 without any.
        var last: UInt64 = 0
        var isComplete = false
    }

    private let state = Mutex(State())

    /// The number of the newest entry that is known.
    var last: UInt64 { state.withLock { $0.last } }
    /// The number of the newest entry; `nil` if an announcement may be missing.
    var end: UInt64? { state.withLock { $0.isComplete ? $0.last : nil } }

    /// Notes an entry; `content` is `nil` for an entry of this node.
    func add(_ number: UInt64, _ content: [UInt8]?) {
        state.withLock { state in
            state.last = max(state.last, number)
            guard let content, !content.isEmpty, state.bytes + content.count <= Self.maximumBytes else { return }
            state.bytes += content.count - (state.entries.updateValue(content, forKey: number)?.count ?? 0)
        }
    }

    /// The entries from `number` on, up to the first that is missing; forgets the earlier ones.
    func entries(from number: UInt64, limit: Int) -> [(number: UInt64, data: [UInt8])] {
        state.withLock { state in
            for earlier in state.entries.keys where earlier < number {
                state.bytes -= state.entries.removeValue(forKey: earlier)?.count ?? 0
            }
            var found: [(UInt64, [UInt8])] = []
            while found.count < limit, let data = state.entries[number + UInt64(found.count)] {
                found.append((number + UInt64(found.count), data))
            }
            return found
        }
    }

    /// From now on an announcement may be missing.
    func doubt() { state.withLock { $0.isComplete = false } }

    /// The log is about to be asked for its end, so that earlier announcements are not needed.
    func trust() { state.withLock { $0.isComplete = true } }

    /// Notes the answer of the log.
    func note(end: UInt64) { state.withLock { $0.last = max($0.last, end) } }
}
