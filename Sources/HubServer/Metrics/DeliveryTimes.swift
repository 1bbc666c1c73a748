import HubProtocol
import Synchronization

/// The times from the acceptance of a hub's messages to their deliveries, until ``FigureKeeper`` records them.
///
/// A message has one time for the streams of this node, and one for each push service.
final class DeliveryTimes: Sendable {
    /// The largest number of messages whose times at streams are kept between two records; others only count.
    private static let maximum = 2_000

    /// The times of one record.
    struct Taken: Sendable {
        /// By platform.
        fileprivate(set) var histograms: [String: TimeHistogram] = [:]
        /// The times of each message at streams.
        fileprivate(set) var streams: [LogSequence: StreamTimes] = [:]

        fileprivate mutating func add(_ other: Taken) {
            histograms.merge(other.histograms, uniquingKeysWith: +)
            for (sequence, times) in other.streams { add(times, of: sequence) }
        }

        /// Adds the times of one event loop.
        fileprivate mutating func add(_ times: StreamTimes, of sequence: LogSequence) {
            if let known = streams[sequence] {
                streams[sequence] = StreamTimes(first: min(known.first, times.first), last: max(known.last, times.last))
            } else if streams.count < DeliveryTimes.maximum {
                streams[sequence] = times
            } else {
                histograms[Platform.stream.rawValue, default: TimeHistogram()].add(times.last)
            }
        }
    }

    private let waiting = Mutex(Taken())

    func note(_ times: StreamTimes, of sequence: LogSequence) { waiting.withLock { $0.add(times, of: sequence) } }

    func note(_ times: [Duration], at platform: Platform) {
        guard !times.isEmpty else { return }
        waiting.withLock { waiting in
            for time in times { waiting.histograms[platform.rawValue, default: TimeHistogram()].add(time) }
        }
    }

    /// The times of a message that are not recorded yet.
    func streams(of sequence: LogSequence) -> StreamTimes? { waiting.withLock { $0.streams[sequence] } }

    func take() -> Taken {
        waiting.withLock { waiting in
            defer { waiting = Taken() }
            return waiting
        }
    }

    /// Puts back what could not be recorded.
    func putBack(_ taken: Taken) { waiting.withLock { $0.add(taken) } }
}

extension DeliveryTimes.Taken {
    /// The histograms, with the messages at streams.
    var all: [String: TimeHistogram] {
        var all = histograms
        for times in streams.values { all[Platform.stream.rawValue, default: TimeHistogram()].add(times.last) }
        return all
    }
}
