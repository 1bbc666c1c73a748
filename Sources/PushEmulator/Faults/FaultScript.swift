import Signals

/// The faults that are set, and the number of requests that each of them has failed so far.
struct FaultScript: Sendable {
    /// The requests that a fault applies to.
    enum Scope: Hashable, Sendable {
        case device(EmulatedDevice)
        /// Every device of a service.
        case service(EmulatedService)
        /// The token endpoint of a service.
        case tokens(EmulatedService)
    }

    /// Maximum number of scopes with a fault, and of devices with a counted marker; the least recently used are dropped.
    private static let maximumDevices = 10_000

    private struct Progress: Sendable {
        let fault: PushFault
        var failedRequests = 0

        /// Counts a request; returns `nil` if it succeeds because the fault has failed enough requests.
        mutating func take() -> PushFault.Effect? {
            if let times = fault.times {
                guard failedRequests < times else { return nil }
                failedRequests += 1
            }
            return fault.effect
        }
    }

    private var faults: BoundedTable<Scope, Progress> = BoundedTable(maximumCount: maximumDevices)
    /// Devices whose handle has a marker with a count (``FaultMarker``).
    private var markers: BoundedTable<EmulatedDevice, Progress> = BoundedTable(maximumCount: maximumDevices)

    /// Sets or removes the fault of a scope; for a device, the count of its marker starts again.
    mutating func set(_ fault: PushFault?, for scope: Scope) {
        faults[scope] = fault.map { Progress(fault: $0) }
        if case .device(let device) = scope { markers[device] = nil }
    }

    /// Counts a request to a device, and returns the fault that it meets; `nil` if it succeeds.
    ///
    /// A fault that was set for the device comes before its marker, and both come before a fault of the service.
    mutating func take(for device: EmulatedDevice) -> MetFault? {
        if let effect = take(for: .device(device)) {
            return MetFault(effect: effect, isWholeService: false)
        }
        if let fault = FaultMarker.fault(in: device.id) {
            var progress = markers[device] ?? Progress(fault: fault)
            let effect = progress.take()
            if fault.times != nil { markers[device] = progress }
            if let effect { return MetFault(effect: effect, isWholeService: false) }
        }
        return take(for: .service(device.service)).map { MetFault(effect: $0, isWholeService: true) }
    }

    mutating func take(for scope: Scope) -> PushFault.Effect? {
        guard var progress = faults[scope] else { return nil }
        let effect = progress.take()
        faults[scope] = progress
        return effect
    }

    /// The fault that fails a request.
    struct MetFault: Sendable {
        let effect: PushFault.Effect
        /// True if the fault applies to every device of the service.
        let isWholeService: Bool
    }
}
