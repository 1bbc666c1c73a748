import Foundation
import HubProtocol
import HubRouting
import HubStore
import Synchronization

/// What the nodes of a hub tell each other.
///
/// Each node tells about its streams, so that an installation has one stream at all of them, and how far it follows the
/// log. Announcements may be lost; an installation then has two streams until the older one breaks.
final class OtherNodes: Sendable {
    /// A message to all other nodes.
    enum Announcement: Codable, Equatable {
        /// These installations have a stream at the sender: `[ordinal, stamp]`.
        case streams(hub: Int64, opened: [Opened])
        /// The sender follows the log up to this entry.
        case presence(node: String, version: String, position: UInt64)

        struct Opened: Codable, Equatable {
            let ordinal: Int64
            let stamp: UInt64
        }
    }

    private struct Peer {
        let version: String
        let position: UInt64
        let seen: ContinuousClock.Instant
    }

    /// Time after which a node that reports no more is forgotten, as one that was removed.
    private static let memory = Duration.seconds(3_600)
    /// Maximum number of nodes that are remembered.
    private static let maximumPeers = 64

    let name: String
    private let version: String
    private let channel: any NodeChannel
    private let store: HubStore
    private let peers = Mutex<[String: Peer]>([:])
    /// The highest stamp that this node has given or seen.
    private let last = Mutex<UInt64>(0)

    init(_ channel: any NodeChannel, of store: HubStore, named name: String, version: String) {
        self.channel = channel
        self.store = store
        self.name = name
        self.version = version
    }

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
        announce(.streams(hub: hub.rawValue, opened: opened))
    }

    /// Tells the other nodes how far this one follows the log.
    func announcePresence() {
        announce(.presence(node: name, version: version, position: store.logState?.place.number ?? 0))
    }

    private func announce(_ announcement: Announcement) {
        guard let data = try? JSONEncoder().encode(announcement) else { return }
        channel.announce([UInt8](data))
    }

    /// Passes what other nodes announce to the hubs' machines until the task is cancelled.
    func listen(_ writer: HubWriter, now: @Sendable () -> Timestamp) async {
        for await bytes in channel.announcements() {
            guard let announcement = try? JSONDecoder().decode(Announcement.self, from: Data(bytes)) else { continue }
            switch announcement {
            case .presence(let node, let version, let position): note(node, version, position)
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

    private func note(_ node: String, _ version: String, _ position: UInt64) {
        peers.withLock { peers in
            peers = peers.filter { $0.value.seen > .now - Self.memory }
            guard peers[node] != nil || peers.count < Self.maximumPeers else { return }
            peers[node] = Peer(version: version, position: position, seen: .now)
        }
    }

    /// This node, and the others as they last reported.
    func report(cutOffSince: ContinuousClock.Instant?) -> HubOverview.Node {
        let state = store.logState
        let now = ContinuousClock.now
        return HubOverview.Node(
            name: name,
            position: state?.place.number ?? 0,
            logEnd: state?.end ?? 0,
            writer: state?.writer,
            cutOffSeconds: cutOffSince.map { Int((now - $0).components.seconds) },
            peers: peers.withLock { $0 }.sorted { $0.key < $1.key }.map { name, peer in
                HubOverview.Node.Peer(
                    name: name,
                    version: peer.version,
                    position: peer.position,
                    seenSecondsAgo: Int((now - peer.seen).components.seconds)
                )
            }
        )
    }
}
