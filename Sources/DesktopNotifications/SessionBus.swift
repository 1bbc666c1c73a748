import CSystemd
import Glibc

/// One connection to the bus of a user's session.
///
/// It must not be used by two threads at once; ``DesktopNotifier`` uses it on its queue.
final class SessionBus {
    /// A name on the bus, one of its objects, and one of the object's interfaces.
    struct Target: Sendable {
        let name: String
        let path: String
        let interface: String
    }

    static let daemon = Target(
        name: "org.freedesktop.DBus",
        path: "/org/freedesktop/DBus",
        interface: "org.freedesktop.DBus"
    )

    private let bus: OpaquePointer

    /// Connects, authenticates and says hello.
    init(address: String, deadline: BusDeadline) throws(DesktopError) {
        var made: OpaquePointer?
        guard sd_bus_new(&made) >= 0, let made else { throw .noBus("no memory for a connection") }
        bus = made
        for code in [sd_bus_set_address(bus, address), sd_bus_set_bus_client(bus, 1), sd_bus_start(bus)]
        where code < 0 {
            throw .noBus("'\(address)': \(Self.text(code))")
        }
        while sd_bus_is_ready(bus) <= 0 {
            let code = sd_bus_process(bus, nil)
            if code < 0 { throw .noBus("'\(address)': \(Self.text(code))") }
            if code > 0 { continue }
            guard let rest = deadline.microseconds else { throw .timedOut }
            sd_bus_wait(bus, rest)
        }
    }

    deinit { sd_bus_close_unref(bus) }

    /// The descriptor to watch for input until the connection is closed.
    var descriptor: Int32 { sd_bus_get_fd(bus) }

    /// Subscribes to signals that match the rule, and waits until the bus has confirmed it.
    func subscribe(_ rule: String, deadline: BusDeadline) throws(DesktopError) {
        _ = try call(Self.daemon, "AddMatch", deadline: deadline) { message throws(DesktopError) in
            try message.append(rule)
        }
    }

    /// Calls a method and waits for its answer.
    func call(
        _ target: Target,
        _ member: String,
        deadline: BusDeadline,
        _ arguments: (BusMessage) throws(DesktopError) -> Void = { _ in }
    ) throws(DesktopError) -> BusMessage {
        var made: OpaquePointer?
        guard sd_bus_message_new_method_call(bus, &made, target.name, target.path, target.interface, member) >= 0,
            let made
        else { throw .disconnected }
        let message = BusMessage(adopting: made)
        try arguments(message)
        guard let rest = deadline.microseconds else { throw .timedOut }
        var error = sd_bus_error()
        defer { sd_bus_error_free(&error) }
        var answer: OpaquePointer?
        let code = sd_bus_call(bus, message.pointer, rest, &error, &answer)
        guard code >= 0, let answer else { throw failure(code, error) }
        return BusMessage(adopting: answer)
    }

    /// Returns the next signal; does not wait.
    ///
    /// - Throws: ``DesktopError/disconnected``.
    func nextSignal() throws(DesktopError) -> BusMessage? {
        while true {
            var message: OpaquePointer?
            let code = sd_bus_process(bus, &message)
            guard code >= 0 else { throw .disconnected }
            if let message { return BusMessage(adopting: message) }
            if code == 0 { return nil }
        }
    }

    private func failure(_ code: Int32, _ error: sd_bus_error) -> DesktopError {
        guard sd_bus_is_open(bus) > 0 else { return .disconnected }
        let name = error.name.map { String(cString: $0) } ?? ""
        if Self.absence.contains(name) || name.hasPrefix("org.freedesktop.DBus.Error.Spawn.") { return .noService }
        if code == -ETIMEDOUT || Self.silence.contains(name) { return .timedOut }
        let text = error.message.map { String(cString: $0) } ?? Self.text(code)
        return .refused(text.isEmpty ? name : text)
    }

    private static let absence: Set<String> = [
        "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
    ]
    private static let silence: Set<String> = [
        "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.TimedOut",
    ]

    private static func text(_ code: Int32) -> String { String(cString: strerror(-code)).lowercased() }
}

/// The time by which a call, or several in a row, must have ended.
struct BusDeadline {
    private let instant: ContinuousClock.Instant

    init(after duration: Duration) { instant = .now + duration }

    /// The time left; `nil` if none is left, because to sd-bus 0 means its own, longer default.
    var microseconds: UInt64? {
        let rest = (instant - .now).components
        let microseconds = rest.seconds * 1_000_000 + rest.attoseconds / 1_000_000_000_000
        return microseconds > 0 ? UInt64(microseconds) : nil
    }
}
