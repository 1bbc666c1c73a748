package import HubProtocol

/// The internal number of a hub: the key of its row, never reused.
package struct HubKey: StoredNumber {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The internal number of an installation or a registration, never reused.
package struct Ordinal: StoredNumber {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// A hub of a server.
package struct HubRecord: Sendable, Hashable {
    package let id: HubKey
    package let name: HubName

    package init(id: HubKey, name: HubName) {
        self.id = id
        self.name = name
    }
}

/// A stream of one event loop; its id is not reused while the server runs.
package struct StreamID: Sendable, Hashable {
    /// The number of the event loop.
    package let loop: Int
    package let number: UInt64

    package init(loop: Int, number: UInt64) {
        self.loop = loop
        self.number = number
    }
}
