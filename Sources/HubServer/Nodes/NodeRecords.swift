import Formats
import Foundation
package import HubProtocol
import HubRouting
import HubStore

/// The figures of a hub that one of its nodes has recorded.
package struct NodeFigures: Sendable {
    /// The node's name; `nil` for a hub with one node.
    package let node: String?
    /// Oldest first, without spans in which nothing changed; `nil` if the node has not answered.
    package let records: [(at: Timestamp, figures: HubFigures)]?
}

/// Records that each node keeps of its own streams and deliveries, as other nodes ask for them.
enum NodeRecords {
    /// Time in which a node must answer: a page waits for it.
    private static let patience = Duration.seconds(2)

    private struct Record: Codable {
        let milliseconds: Int64
        let figures: HubFigures
    }

    // MARK: Asking

    /// The figures of a hub at the other nodes, by name; those of a node that does not answer are `nil`.
    static func figures(
        of hub: HubKey,
        _ span: HubFigures.Span,
        since: Timestamp,
        at others: OtherNodes
    ) async -> [NodeFigures] {
        var request = EntryWriter()
        request.append(NodeMessages.Kind.figures)
        request.append(number: UInt64(hub.rawValue))
        request.append(number: UInt64(span.rawValue))
        request.append(signed: since.milliseconds)
        return await others.ask(request.bytes, patience) { answer in
            try? JSONReader.decode([Record].self, from: answer, limits: .stored)
        }
        .map { node, records in
            NodeFigures(node: node, records: records?.map { (Timestamp(milliseconds: $0.milliseconds), $0.figures) })
        }
    }

    /// The times of a message at streams of the other nodes that have such times.
    static func times(of sequence: LogSequence, in hub: HubKey, at others: OtherNodes) async -> [StreamTimes] {
        var request = EntryWriter()
        request.append(NodeMessages.Kind.times)
        request.append(number: UInt64(hub.rawValue))
        request.append(number: UInt64(sequence.rawValue))
        return await others.ask(request.bytes, patience) { answer -> StreamTimes? in
            var reader = EntryReader(answer)
            guard let first = try? reader.number(), let last = try? reader.number() else { return nil }
            return StreamTimes(first: .milliseconds(first), last: .milliseconds(last))
        }
        .compactMap(\.answer)
    }

    // MARK: Answering

    /// The figures that a node asks for; no bytes for a request that cannot be read.
    static func figures(_ request: ArraySlice<UInt8>, _ served: ServedHubs) async -> [UInt8] {
        var reader = EntryReader(Array(request))
        guard let hub = try? reader.number(), let seconds = try? reader.number(), let since = try? reader.signed(),
            let span = HubFigures.Span(rawValue: Int64(clamping: seconds)),
            let stored = try? await served.store.figures(
                hub: HubKey(rawValue: Int64(clamping: hub)),
                span,
                since: Timestamp(milliseconds: since)
            ),
            let answer = try? JSONEncoder.sorted.encode(
                stored.map { Record(milliseconds: $0.at.milliseconds, figures: $0.figures) }
            )
        else { return [] }
        return Array(answer)
    }

    /// The times of a message at streams of this node; no bytes if there are none.
    static func times(_ request: ArraySlice<UInt8>, _ served: ServedHubs) async -> [UInt8] {
        var reader = EntryReader(Array(request))
        guard let key = try? reader.number(), let sequence = try? reader.number(),
            let hub = served.directory.hubs.first(where: { $0.record.id.rawValue == Int64(clamping: key) }),
            let times = try? await hub.streamTimes(of: LogSequence(rawValue: Int64(clamping: sequence)))
        else { return [] }
        var answer = EntryWriter()
        for time in [times.first, times.last] { answer.append(number: UInt64(max(0, time.milliseconds))) }
        return answer.bytes
    }
}

extension Hub {
    /// The times of a message at streams of this node; `nil` if they are not known.
    func streamTimes(of sequence: LogSequence) async throws -> StreamTimes? {
        try await store.streamTimes(of: sequence) ?? counters.times.streams(of: sequence)
    }

    /// The times of a message at streams of all nodes that answer; `nil` if they are not known.
    func streamTimesOfAllNodes(_ sequence: LogSequence) async throws -> StreamTimes? {
        let own = try await streamTimes(of: sequence)
        guard let others else { return own }
        let all = [own].compactMap(\.self) + (await NodeRecords.times(of: sequence, in: record.id, at: others))
        guard let first = all.map(\.first).min(), let last = all.map(\.last).max() else { return nil }
        return StreamTimes(first: first, last: last)
    }
}
