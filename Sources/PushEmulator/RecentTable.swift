/// A dictionary that forgets its oldest entries when it is full.
struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let maximum: Int
    private var values: [Key: (value: Value, age: Int)] = [:]
    /// Keys by age, including some that were removed since.
    private var order: [(key: Key, age: Int)] = []
    private var head = 0
    private var nextAge = 0

    /// - Parameter maximum: Entries, at least 1.
    init(maximum: Int) {
        self.maximum = max(1, maximum)
    }

    var count: Int { values.count }

    /// An entry keeps its age when its value changes.
    subscript(key: Key) -> Value? {
        get { values[key]?.value }
        set {
            guard let newValue else {
                values[key] = nil
                return
            }
            if let age = values[key]?.age {
                values[key] = (newValue, age)
                return
            }
            values[key] = (newValue, nextAge)
            order.append((key, nextAge))
            nextAge += 1
            trim()
        }
    }

    private mutating func trim() {
        while values.count > maximum, head < order.count {
            let oldest = order[head]
            head += 1
            if values[oldest.key]?.age == oldest.age { values[oldest.key] = nil }
        }
        guard order.count > 2 * maximum + 16 else { return }
        order = order[head...].filter { values[$0.key]?.age == $0.age }
        head = 0
    }
}
