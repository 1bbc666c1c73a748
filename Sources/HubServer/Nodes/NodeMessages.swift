import HubStore
import ServiceLifecycle

/// Passes the messages of other nodes to the parts of the hub that they concern.
///
/// The first byte of a message is its kind; messages of unknown kinds come from newer versions and are ignored. Bytes after
/// the known content of an announcement come from newer versions, too. The channel drops announcements that are late.
struct NodeMessages: Service {
    enum Kind {
        /// The claim of a node to be the one that writes.
        static let heartbeat: UInt8 = 1
        /// A request of a client, to be executed by the node that writes, as earlier versions pass it on.
        static let forwardedRequest: UInt8 = 2
        /// Agents that have streams at a node.
        static let agents: UInt8 = 3
        /// Installations that have a stream at a node.
        static let streams: UInt8 = 4
        /// The position of a node in the log.
        static let presence: UInt8 = 5
        /// The progress of a node's streams.
        static let progress: UInt8 = 6
        /// A request of a client, to be executed by the node that writes as long as it has the claim in the request.
        static let fencedRequest: UInt8 = 7
        /// A question for the figures of a hub that a node keeps.
        static let figures: UInt8 = 8
        /// A question for the times of a message at a node's streams.
        static let times: UInt8 = 9
    }

    let channel: any NodeChannel
    /// By kind of announcement; called with the bytes after the kind.
    let listeners: [UInt8: @Sendable (ArraySlice<UInt8>) -> Void]
    /// By kind of request; called with the bytes after the kind.
    let answerers: [UInt8: @Sendable (ArraySlice<UInt8>) async -> [UInt8]]

    func run() async throws {
        await cancelWhenGracefulShutdown {
            async let serving: Void = channel.serve { request in
                guard let kind = request.first, let answer = answerers[kind] else { return [] }
                return await answer(request.dropFirst())
            }
            for await announcement in channel.announcements() {
                guard let kind = announcement.first else { continue }
                listeners[kind]?(announcement.dropFirst())
            }
            await serving
        }
        // Without other nodes, the channel ends at once.
        try? await gracefulShutdown()
    }
}
