/// The feeds of one host, or of hosts that share a service, which wait for their turns in one pass.
///
/// A public host has one slot: its feeds are polled one after another. A host of the user's own gets further slots
/// while a feed keeps the others waiting, because a slow route must not delay a ready one.
struct HostQueue<Turn> {
    private var waiting: ArraySlice<Turn>
    /// Number of feeds that may be polled at the same time.
    private var slots: Int
    private let maximumSlots: Int
    private var running = 0
    /// Number of feeds that have been polled.
    private var finished = 0
    private var hasBegun = false
    /// True while a timer runs whose end calls ``watchEnded(sawFinished:)``.
    private var isWatched = false

    init(_ turns: [Turn], slots: Int = 1, maximumSlots: Int = 1) {
        waiting = turns[...]
        self.slots = slots
        self.maximumSlots = maximumSlots
    }

    /// The feed whose turn is next.
    var first: Turn? { waiting.first }
    var count: Int { waiting.count }
    var canBegin: Bool { running < slots && !waiting.isEmpty }

    /// Begins the next turn; `isFirst` is true if it is the first one of this queue.
    mutating func begin() -> (turn: Turn, isFirst: Bool)? {
        guard canBegin, let turn = waiting.popFirst() else { return nil }
        defer { hasBegun = true }
        running += 1
        return (turn, !hasBegun)
    }

    mutating func finish() {
        running -= 1
        finished += 1
    }

    /// Returns the number of finished turns if a timer should be started; `nil` if no feed waits for a slow one.
    mutating func beginWatch() -> Int? {
        guard !isWatched, !waiting.isEmpty, running >= slots, slots < maximumSlots else { return nil }
        isWatched = true
        return finished
    }

    /// Adds a slot if no turn has ended while the timer ran.
    mutating func watchEnded(sawFinished: Int) {
        isWatched = false
        if finished == sawFinished, slots < maximumSlots { slots += 1 }
    }
}
