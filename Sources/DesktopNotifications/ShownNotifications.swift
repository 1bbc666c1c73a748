internal import NetworkAddresses

/// The notifications that may still be on the screen, by the numbers that the service gave them.
struct ShownNotifications {
    /// Maximum number of entries: a day's notifications without a click; older ones cannot be opened or replaced.
    static let capacity = 256

    private struct Entry {
        let id: UInt32
        let key: String
        let link: WebLink?
    }

    /// Oldest first.
    private var entries: [Entry] = []

    var count: Int { entries.count }

    func id(of key: String) -> UInt32? { entries.first { $0.key == key }?.id }

    /// Returns the numbers of those that a notification replaces, its own key's first.
    func ids(replacedBy notification: DesktopNotification) -> [UInt32] {
        ([notification.key] + notification.replaces.filter { $0 != notification.key }).compactMap(id)
    }

    func link(of id: UInt32) -> WebLink? { entries.first { $0.id == id }?.link }

    mutating func add(_ id: UInt32, _ notification: DesktopNotification) {
        entries.removeAll { $0.id == id || $0.key == notification.key }
        entries.append(Entry(id: id, key: notification.key, link: notification.link))
        if entries.count > Self.capacity { entries.removeFirst() }
    }

    mutating func remove(_ id: UInt32) { entries.removeAll { $0.id == id } }

    /// Removes all, for a service that has restarted and counts from one again.
    mutating func removeAll() { entries = [] }
}
