/// The deliveries to each device, in memory; the oldest are dropped when there are too many.
struct Inbox: Sendable {
    private let limits: InboxLimits
    private var boxes: [EmulatedDevice: [EmulatedDelivery]] = [:]
    /// All deliveries by age, including some that were dropped since.
    private var order: [(device: EmulatedDevice, sequence: Int)] = []
    private var head = 0
    private var bytes = 0
    private(set) var count = 0
    private var lastSequence = 0

    init(limits: InboxLimits = InboxLimits()) {
        self.limits = limits
    }

    mutating func add(_ delivery: EmulatedDelivery, for device: EmulatedDevice) {
        var delivery = delivery
        lastSequence += 1
        delivery.sequence = lastSequence
        if let key = delivery.collapseKey { markReplaced(key, of: device) }
        boxes[device, default: []].append(delivery)
        order.append((device, delivery.sequence))
        count += 1
        bytes += delivery.size
        if boxes[device, default: []].count > limits.deliveriesPerDevice { dropOldest(of: device) }
        while count > limits.deliveries || bytes > limits.bytes, head < order.count {
            let oldest = order[head]
            head += 1
            if boxes[oldest.device]?.first?.sequence == oldest.sequence { dropOldest(of: oldest.device) }
        }
        compact()
    }

    /// Returns the deliveries to any of these devices, oldest first.
    func deliveries(to devices: [EmulatedDevice]) -> [EmulatedDelivery] {
        devices.flatMap { boxes[$0, default: []] }.sorted { $0.sequence < $1.sequence }
    }

    mutating func clear() {
        boxes = [:]
        order = []
        (head, bytes, count) = (0, 0, 0)
    }

    private mutating func markReplaced(_ key: String, of device: EmulatedDevice) {
        guard let box = boxes[device] else { return }
        for index in box.indices where box[index].collapseKey == key { boxes[device]?[index].isReplaced = true }
    }

    private mutating func dropOldest(of device: EmulatedDevice) {
        guard let dropped = boxes[device]?.removeFirst() else { return }
        if boxes[device]?.isEmpty == true { boxes[device] = nil }
        count -= 1
        bytes -= dropped.size
    }

    private mutating func compact() {
        guard order.count > 2 * limits.deliveries + 16 else { return }
        order = order[head...].filter { entry in
            boxes[entry.device]?.first.map { $0.sequence <= entry.sequence } ?? false
        }
        head = 0
    }
}
