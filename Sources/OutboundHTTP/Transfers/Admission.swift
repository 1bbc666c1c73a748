/// Decides which waiting transfer may start, within limits for each origin and for all; origins take turns.
///
/// libcurl has such limits too, but starts waiting transfers in one common order, so an origin that does not answer would
/// hold up the others.
struct Admission<Item> {
    private struct Lane {
        var waiting = FirstInFirstOut<Item>()
        var active = 0
        var isMultiplexed = false
        var isListed = false

        /// Number of connections that count towards the limit for all origins.
        var connections: Int { isMultiplexed ? min(active, 1) : active }
    }

    private let maximumConnections: Int
    private let maximumConnectionsPerOrigin: Int
    private let maximumStreamsPerOrigin: Int
    private var lanes: [String: Lane] = [:]
    private var turns = FirstInFirstOut<String>()
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

    mutating func enqueue(_ item: Item, origin: String) {
        lanes[origin, default: Lane()].waiting.append(item)
        list(origin)
    }

    /// Returns the next item that may start and counts it as started.
    mutating func next() -> Item? {
        while connections < maximumConnections, let origin = turns.popFirst() {
            lanes[origin]?.isListed = false
            // Changed in place: a copy of the lane would copy all waiting items.
            let item = hasRoom(origin) ? lanes[origin]?.waiting.popFirst() : nil
            if item != nil { count(1, origin) }
            list(origin)
            if let item { return item }
        }
        return nil
    }

    private func hasRoom(_ origin: String) -> Bool {
        lanes[origin].map { $0.active < limit($0) } ?? false
    }

    private mutating func count(_ change: Int, _ origin: String) {
        connections -= lanes[origin]?.connections ?? 0
        lanes[origin]?.active += change
        connections += lanes[origin]?.connections ?? 0
    }

    /// Counts a started item as done.
    ///
    /// `isMultiplexed` is true if the origin used HTTP/2, and `nil` if that is not known.
    mutating func finish(origin: String, isMultiplexed: Bool?) {
        guard var lane = lanes[origin] else { return }
        connections -= lane.connections
        lane.active -= 1
        lane.isMultiplexed = isMultiplexed ?? lane.isMultiplexed
        connections += lane.connections
        lanes[origin] = lane.active == 0 && lane.waiting.isEmpty ? nil : lane
        list(origin)
    }

    /// Queues an origin for its next turn if it has waiting items and room.
    private mutating func list(_ origin: String) {
        guard let lane = lanes[origin], !lane.isListed, !lane.waiting.isEmpty, lane.active < limit(lane) else { return }
        lanes[origin]?.isListed = true
        turns.append(origin)
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
