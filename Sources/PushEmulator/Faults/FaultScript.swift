import Signals

/// The active faults, and the number of requests that each of them has failed.
struct FaultScript: Sendable {
    enum Scope: Hashable, Sendable {
        case device(EmulatedDevice)
        /// Every device of a service.
        case service(EmulatedService)
        /// The token endpoint of a service.
        case tokens(EmulatedService)
    }

    /// Maximum number of scopes whose faults and counts are kept; beyond it the oldest are forgotten.
    private static let maximumDevices = 10_000

    private struct Progress: Sendable {
        let fault: PushFault
        var met = 0

        mutating func take() -> PushFault.Effect? {
            if let times = fault.times {
                guard met < times else { return nil }
                met += 1
            }
            return fault.effect
        }
    }

    private var set: BoundedTable<Scope, Progress> = BoundedTable(maximumCount: maximumDevices)
    /// Progress of the markers that have a count.
    private var asked: BoundedTable<EmulatedDevice, Progress> = BoundedTable(maximumCount: maximumDevices)

    /// Replaces or removes the fault of a scope; the count of a device's marker starts again.
    mutating func set(_ fault: PushFault?, for scope: Scope) {
        set[scope] = fault.map { Progress(fault: $0) }
        if case .device(let device) = scope { asked[device] = nil }
    }

    /// Counts a request to a device and returns the fault that applies to it.
    ///
    /// A fault set for the device precedes its marker, and both precede the service's.
    mutating func take(for device: EmulatedDevice) -> Met? {
        if let effect = take(for: .device(device)) {
            return Met(effect: effect, isWholeService: false)
        }
        if let fault = FaultMarker.fault(in: device.id) {
            var progress = asked[device] ?? Progress(fault: fault)
            let effect = progress.take()
            if fault.times != nil { asked[device] = progress }
            if let effect { return Met(effect: effect, isWholeService: false) }
        }
        return take(for: .service(device.service)).map { Met(effect: $0, isWholeService: true) }
    }

    mutating func take(for scope: Scope) -> PushFault.Effect? {
        guard var progress = set[scope] else { return nil }
        let effect = progress.take()
        set[scope] = progress
        return effect
    }

    struct Met: Sendable {
        let effect: PushFault.Effect
        /// True if the fault is the service's, not the device's.
        let isWholeService: Bool
    }
}
