/// Decides which waiting transfer may start, within limits for each origin and for all; origins take turns.
///
/// libcurl has such limits too, but starts waiting transfers in one common order, so an origin that does not answer would
/// hold up the others.
final class Admission<Item> {
    private final class Lane {
        let origin: String
        var waiting = FirstInFirstOut<Item>()
        var active = 0
        var isMultiplexed = false
        var isListed = false

        init(_ origin: String) { self.origin = origin }

        /// Number of connections that count towards the limit for all origins.
        var connections: Int { isMultiplexed ? min(active, 1) : active }
    }

    private let maximumConnections: Int
    private let maximumConnectionsPerOrigin: Int
    private let maximumStreamsPerOrigin: Int
    private var lanes: [String: Lane] = [:]
    /// The lane that was used last, since many transfers have the same origin.
    private var recent: Lane?
    private var turns = FirstInFirstOut<Lane>()
    private var connections = 0

    init(
        maximumConnections: Int,
        maximumConnectionsPerOrigin: Int,
        maximumStreamsPerOrigin: Int = OutboundClient.commonStreams
    ) {
        self.maximumConnections = max(1, maximumConnections)
        self.maximumConnectionsPerOrigin = max(1, maximumConnectionsPerOrigin)
        self.maximumStreamsPerOrigin = max(1, maximumStreamsPerOrigin)
    }

    func enqueue(_ item: Item, origin: String) {
        let lane = lane(origin) ?? Lane(origin)
        if lane !== recent {
            lanes[origin] = lane
            recent = lane
        }
        lane.waiting.append(item)
        list(lane)
    }

    /// Returns the next item that may start and counts it as started.
    func next() -> Item? {
        while connections < maximumConnections, let lane = turns.popFirst() {
            lane.isListed = false
            let item = lane.active < limit(lane) ? lane.waiting.popFirst() : nil
            if item != nil {
                connections -= lane.connections
                lane.active += 1
                connections += lane.connections
            }
            list(lane)
            if let item { return item }
        }
        return nil
    }

    /// Counts a started item as done.
    ///
    /// `isMultiplexed` is true if the origin used HTTP/2, and `nil` if that is not known.
    func finish(origin: String, isMultiplexed: Bool?) {
        guard let lane = lane(origin) else { return }
        connections -= lane.connections
        lane.active -= 1
        lane.isMultiplexed = isMultiplexed ?? lane.isMultiplexed
        connections += lane.connections
        if lane.active == 0, lane.waiting.isEmpty {
            lanes[origin] = nil
            recent = nil
        }
        list(lane)
    }

    private func lane(_ origin: String) -> Lane? {
        if let recent, recent.origin == origin { return recent }
        return lanes[origin]
    }

    /// Queues an origin for its next turn if it has waiting items and room.
    private func list(_ lane: Lane) {
        guard !lane.isListed, !lane.waiting.isEmpty, lane.active < limit(lane) else { return }
        lane.isListed = true
        turns.append(lane)
    }

    private func limit(_ lane: Lane) -> Int {
        lane.isMultiplexed ? maximumStreamsPerOrigin : maximumConnectionsPerOrigin
    }
}

/// A queue whose first element is removed without moving the others.
struct FirstInFirstOut<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var isEmpty: Bool { start == elements.count }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        let element = elements[start]
        elements[start] = nil
        start += 1
        if start == elements.count {
            elements.removeAll(keepingCapacity: elements.count <= 64)
            start = 0
        } else if start >= 64, start * 2 >= elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return element
    }
}
