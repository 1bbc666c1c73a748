import Crypto
import Foundation
import HubProtocol

/// The hub's id of what a user has registered here.
struct DeviceKey: Hashable, Sendable {
    enum Kind: Int, Sendable {
        case registration = 0
        case installation = 1
    }

    let kind: Kind
    /// The id of an installation is in its folded form.
    let id: String

    static func registration(_ id: RegistrationID) -> DeviceKey { DeviceKey(kind: .registration, id: id.text) }

    static func installation(_ id: InstallationID) -> DeviceKey { DeviceKey(kind: .installation, id: id.folded) }
}

/// A registration id that a device has stored, of whatever origin.
struct GivenID: Hashable, Sendable {
    /// Longest id, in bytes.
    static let maximumLength = 256

    let text: String

    /// `nil` for text that is empty, too long, or has a control character.
    init?(_ text: String) {
        guard (1...Self.maximumLength).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        self.text = text
    }

    /// The registration whose own id it is.
    var key: DeviceKey { DeviceKey(kind: .registration, id: text) }
}

/// SHA-256 of a push handle: enough to recognize a device, and of no use to a thief of the database.
struct HandleDigest: Hashable, Sendable {
    let bytes: Data

    init(bytes: Data) { self.bytes = bytes }

    /// Hexadecimal handles are the same in either case (protocol §3.5).
    init(_ channel: PushChannel) {
        let text =
            switch channel {
            case .handle(let text): text.utf8.allSatisfy(Self.isHexadecimal) ? text.lowercased() : text
            // No line feed is in base64url, so that no two subscriptions give one text.
            case .browser(let browser): "\(browser.auth)\n\(browser.p256dh)\n\(browser.endpoint)"
            }
        bytes = Data(SHA256.hash(data: Data(text.utf8)))
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}

/// A user's device: a registration or an installation that was made here.
///
/// The hub and this store cannot change in one step. Before a call to the hub, the store notes what the call will make
/// of the device. Where the outcome is unknown, as after a crash, both states count until the next call succeeds.
struct Device: Sendable, Equatable {
    /// A user, and the device that they showed to have.
    struct Holder: Sendable, Equatable {
        /// The key of a ``UserName``.
        let user: String
        /// `nil` while no handle is known.
        let handle: HandleDigest?
    }

    let key: DeviceKey
    var holder: Holder
    /// The state that a call to the hub was to bring about.
    var wanted: Holder?
    /// False for an id that was given out and not used yet: the hub stores nothing under it.
    var isRegistered: Bool
    /// When the hub last stored it, to the day.
    var changedAt: Timestamp
    /// Calls to the hub that may still be done, to bring about the state that was last wanted.
    var late: LateCalls?

    /// Its states, of which the hub has one.
    var holders: [Holder] { [holder] + (wanted.map { [$0] } ?? []) }

    func isHeld(by user: String) -> Bool { holders.contains { $0.user == user } }

    func has(_ handle: HandleDigest) -> Bool { holders.contains { $0.handle == handle } }

    /// True if a call for this user and handle would change nothing that the store notes.
    func isSettled(_ wish: Holder) -> Bool { isRegistered && wanted == nil && holder == wish }

    /// True if the hub must be asked before a call for this user and handle: another state may be the hub's, or become it.
    func isInDoubt(for wish: Holder, at now: Timestamp) -> Bool {
        if let wanted, wanted != wish { return true }
        return isLate(at: now) && holder != wish && wanted != wish
    }

    func isLate(at now: Timestamp) -> Bool { late?.pending(at: now) != nil }
}

/// Calls to the hub without an answer: the hub may do what they ask for after the calls that follow.
///
/// A hub has no order of requests that arrive on several connections, and a proxy in front of it may hold one back. Until
/// such a call cannot take effect any more, no other user gets the device: its former user's tag could come back.
struct LateCalls: Sendable, Equatable {
    /// The longest time from the beginning of a call to its effect: 30 s in which the answer is waited for, and a minute,
    /// which proxies commonly wait for a server.
    static let longest = Duration.seconds(90)

    let count: Int
    let until: Timestamp

    /// `nil` for no calls.
    init?(count: Int, until: Timestamp) {
        guard count > 0 else { return nil }
        self.count = count
        self.until = until
    }

    /// Further calls that begin, or have ended, at a time.
    init?(adding count: Int, to others: LateCalls?, at now: Timestamp) {
        self.init(count: (others?.pending(at: now)?.count ?? 0) + count, until: now + Self.longest)
    }

    /// `nil` when none of them can take effect any more.
    ///
    /// After the clock was set back, `until` may be far away: it is no later than ``longest`` from any true time.
    func pending(at now: Timestamp) -> LateCalls? { now < until && until - now <= Self.longest ? self : nil }
}
