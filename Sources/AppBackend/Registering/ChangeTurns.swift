package import Signals

extension TurnQueue {
    /// The largest number of requests that wait to change one device.
    package static var maximumWaitingChanges: Int { 16 }

    /// Makes turns for changes of a device, push handle or reader's session.
    ///
    /// A change is made in the store and at the hub, one after the other. Two simultaneous changes could be made there in
    /// different orders. Too many waiting requests are refused with 503.
    package static func ofChanges(maximumWaiting: Int = maximumWaitingChanges) -> TurnQueue {
        TurnQueue(maximumWaiting: maximumWaiting) {
            BackendRefusal.unavailable("Too many requests are changing this device at once.", retryAfter: .seconds(1))
        }
    }
}
