import Foundation
import HubProtocol
import HubStore
import NIOCore
import Synchronization

/// The hubs of a server, by name, with their streams' event loops.
final class HubDirectory: Sendable {
    struct Member: Sendable {
        let hub: Hub
        /// One for each event loop of the server.
        let loops: [StreamLoop]
        let replay: ReplayService

        init(_ hub: Hub, eventLoops: [any EventLoop]) {
            let replay = ReplayService(hub: hub)
            self.hub = hub
            self.replay = replay
            let head = hub.state.withLock { $0.head }
            loops = eventLoops.map { eventLoop in
                StreamLoop(
                    eventLoop: eventLoop,
                    limits: hub.configuration.streamLimits,
                    encoding: hub.encoding,
                    counters: hub.counters,
                    head: head,
                    requestPage: { replay.request($0) },
                    detached: { hub.detached($0, ordinal: $1, written: $2) },
                    noteProgress: { hub.noteProgress($0) }
                )
            }
        }
    }

    private let members: [HubName: Member]
    let eventLoops: [any EventLoop]
    private let loopIndices: [ObjectIdentifier: Int]

    init(members: [Member], eventLoops: [any EventLoop]) {
        self.members = Dictionary(uniqueKeysWithValues: members.map { ($0.hub.record.name, $0) })
        self.eventLoops = eventLoops
        loopIndices = Dictionary(
            uniqueKeysWithValues: eventLoops.enumerated().map { (ObjectIdentifier($1), $0) }
        )
    }

    var all: [Member] { Array(members.values) }

    /// Finds a hub by the first segment of a path, as it was sent.
    ///
    /// - Throws: 404 when there is none of this name.
    func hub(named name: String) throws(ProtocolError) -> Hub {
        guard let text = name.removingPercentEncoding, let known = try? HubName(text), let member = members[known]
        else {
            throw .notFound("There is no hub named '\(name.prefix(HubName.maximumLength))' here.")
        }
        return member.hub
    }

    /// The stream loop of an event loop, the first one for an event loop of somebody else.
    func loop(of eventLoop: any EventLoop, for hub: Hub) -> (StreamLoop, index: Int) {
        let index = loopIndices[ObjectIdentifier(eventLoop)] ?? 0
        guard let member = members[hub.record.name] else { preconditionFailure("the hub is one of the directory") }
        return (member.loops[index], index)
    }

    /// All stream loops of a hub.
    func loops(of hub: Hub) -> [StreamLoop] { members[hub.record.name]?.loops ?? [] }

    func anyLoop(for hub: Hub) -> (StreamLoop, index: Int) {
        guard let member = members[hub.record.name] else { preconditionFailure("the hub is one of the directory") }
        let index = Int.random(in: member.loops.indices)
        return (member.loops[index], index)
    }

    /// Hands what a batch of the writer has changed to the event loops, in the order of the log.
    func dispatch() {
        for member in members.values {
            for (loop, commands) in zip(member.loops, member.hub.takeCommands()) where !commands.isEmpty {
                loop.eventLoop.execute { loop.apply(commands) }
            }
        }
    }
}

extension Hub {
    /// Checks a request's token against this hub's rules.
    func grant(authorization: String?, path: String, needs right: AccessRights) throws(ProtocolError) -> Grant {
        try authorize(
            authorization,
            path: path,
            needs: right,
            rules: rules,
            now: configuration.nowMilliseconds / 1000
        )
    }
}
