import Crypto
import Formats
import Foundation
import HubProtocol
import WebEdge

/// The hub's id of a registration or installation that a user has made here.
struct DeviceKey: Hashable, Sendable {
    enum Kind: Int, Sendable {
        case registration = 0
        case installation = 1
    }

    let kind: Kind
    /// The id; for an installation, in its folded form.
    let id: String

    static func registration(_ id: RegistrationID) -> DeviceKey { DeviceKey(kind: .registration, id: id.text) }

    static func installation(_ id: InstallationID) -> DeviceKey { DeviceKey(kind: .installation, id: id.folded) }
}

/// A registration id that a device presents, from any source.
struct GivenID: Hashable, Sendable {
    /// The longest id, in bytes.
    static let maximumLength = 256

    let text: String

    /// Creates an id; `nil` for text that is empty, too long, or has a control character.
    init?(_ text: String) {
        guard (1...Self.maximumLength).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        self.text = text
    }

    /// The key of the registration with this id.
    var key: DeviceKey { DeviceKey(kind: .registration, id: text) }
}

/// The SHA-256 of a push handle: enough to recognize a device, and useless to a thief of the database.
struct HandleDigest: Hashable, Sendable {
    let bytes: Data

    init(bytes: Data) { self.bytes = bytes }

    /// Creates the digest; hexadecimal handles are case-insensitive (protocol §3.5).
    init(_ channel: PushChannel) {
        let text =
            switch channel {
            case .handle: channel.address
            // Base64url has no line feed, so two different subscriptions cannot give the same text.
            case .browser(let browser): "\(browser.auth)\n\(browser.p256dh)\n\(browser.endpoint)"
            }
        bytes = Data(SHA256.hash(data: Data(text.utf8)))
    }
}

/// A user's device: a registration or an installation that was made here.
///
/// The hub and this store cannot change in one step. Before a call to the hub, the store records the state that the
/// call will create. If the outcome is unknown, as after a crash, both states count until the next call succeeds.
struct RegisteredDevice: Sendable, Equatable {
    /// A user, and the push handle that the user has registered.
    struct Holder: Sendable, Equatable {
        /// The key of a ``UserName``.
        let user: String
        /// The digest of the handle; `nil` while no handle is known.
        let handle: HandleDigest?
    }

    let key: DeviceKey
    var holder: Holder
    /// The state that a call to the hub was meant to create.
    var wanted: Holder?
    /// False for an id that was issued and has not been used: the hub has nothing with that id.
    var isRegistered: Bool
    /// The time at which the hub last stored it, to within a day.
    var changedAt: Timestamp
    /// Calls that the hub may still carry out; they would create the last requested state.
    var late: LateCalls?

    /// The possible states of the device; the hub has one of them.
    var holders: [Holder] { [holder] + (wanted.map { [$0] } ?? []) }

    func isHeld(by user: String) -> Bool { holders.contains { $0.user == user } }

    func has(_ handle: HandleDigest) -> Bool { holders.contains { $0.handle == handle } }

    /// True if a call for this user and handle would not change the stored state.
    func isSettled(_ wantedHolder: Holder) -> Bool { isRegistered && wanted == nil && holder == wantedHolder }

    /// True if the hub must be asked before a call for this user and handle: the hub may have, or get, another state.
    func isInDoubt(for wantedHolder: Holder, at now: Timestamp) -> Bool {
        if let wanted, wanted != wantedHolder { return true }
        return isLate(at: now) && holder != wantedHolder && wanted != wantedHolder
    }

    func isLate(at now: Timestamp) -> Bool { late?.pending(at: now) != nil }
}

/// A user's request to have a device with a push handle, from a network.
struct DeviceClaim: Sendable {
    let user: UserName
    let channel: PushChannel
    let network: ClientNetwork
    /// The digest of ``channel``.
    let handle: HandleDigest

    init(_ channel: PushChannel, of user: UserName, from network: ClientNetwork) {
        (self.user, self.channel, self.network) = (user, channel, network)
        handle = HandleDigest(channel)
    }

    /// The state that a call to the hub creates.
    var holder: RegisteredDevice.Holder { RegisteredDevice.Holder(user: user.key, handle: handle) }

    /// Other users' devices with the handle, at most ``UserDevices/maximumOthers``.
    func others(in table: DeviceTable) throws -> [RegisteredDevice] {
        try table.devices(with: handle, ofOthersThan: user.key, limit: UserDevices.maximumOthers)
    }
}

/// Calls to the hub without an answer: the hub may carry them out after later calls.
///
/// A hub does not order requests on different connections, and a proxy in front of it may hold one back. Until such a
/// call can no longer take effect, no other user gets the device: its former user's tag could come back.
struct LateCalls: Sendable, Equatable {
    /// The longest time from the start of a call to its effect: the timeout of 30 s, and a minute, which is the usual
    /// timeout of proxies.
    static let longest = Duration.seconds(90)

    let count: Int
    let until: Timestamp

    /// Creates a count of calls; `nil` for no calls.
    init?(count: Int, until: Timestamp) {
        guard count > 0 else { return nil }
        self.count = count
        self.until = until
    }

    /// Adds calls that start, or have ended, at a time.
    init?(adding count: Int, to others: LateCalls?, at now: Timestamp) {
        self.init(count: (others?.pending(at: now)?.count ?? 0) + count, until: now + Self.longest)
    }

    /// The calls that can still take effect; `nil` if none can.
    ///
    /// After the clock was set back, `until` may be far in the future; it is never more than ``longest`` from the true
    /// time.
    func pending(at now: Timestamp) -> LateCalls? { now < until && until - now <= Self.longest ? self : nil }
}
