import Foundation
import HubProtocol
import HubRouting
import HubStore
import Synchronization

/// Tells the other nodes of a hub about this node's streams, so that an installation has one stream at all of them.
///
/// Announcements may be lost; an installation then has two streams until the older one breaks.
final class OtherNodes: Sendable {
    /// A message to all other nodes.
    enum Announcement: Codable, Equatable {
        /// These installations have a stream at the sender: `[ordinal, stamp]`.
        case streams(hub: Int64, opened: [Opened])

        struct Opened: Codable, Equatable {
            let ordinal: Int64
            let stamp: UInt64
        }
    }

    private let channel: any NodeChannel
    /// The highest stamp that this node has given or seen.
    private let last = Mutex<UInt64>(0)

    init(_ channel: any NodeChannel) { self.channel = channel }

    /// A stamp above all that this node has given or seen.
    ///
    /// It follows the clock, so that a node that has started again gives no old ones. Clocks may differ: a node that
    /// hears of another's higher stamp goes on from there.
    func stamp(at time: Timestamp) -> UInt64 {
        last.withLock { last in
            last = max(last + 1, UInt64(max(0, time.milliseconds)) << 16)
            return last
        }
    }

    func announce(_ streams: [AttachedStream], of hub: HubKey) {
        let opened = streams.map { Announcement.Opened(ordinal: $0.ordinal.rawValue, stamp: $0.stamp) }
        guard let data = try? JSONEncoder().encode(Announcement.streams(hub: hub.rawValue, opened: opened)) else {
            return
        }
        channel.announce([UInt8](data))
    }

    /// Passes what other nodes announce to the hubs' machines until the task is cancelled.
    func listen(_ writer: HubWriter, now: @Sendable () -> Timestamp) async {
        for await bytes in channel.announcements() {
            guard let announcement = try? JSONDecoder().decode(Announcement.self, from: Data(bytes)) else { continue }
            switch announcement {
            case .streams(let hub, let opened):
                for stream in opened {
                    last.withLock { $0 = max($0, stream.stamp) }
                    writer.post(
                        .openedElsewhere(Ordinal(rawValue: stream.ordinal), stamp: stream.stamp, at: now()),
                        to: HubKey(rawValue: hub)
                    )
                }
            }
        }
    }
}
