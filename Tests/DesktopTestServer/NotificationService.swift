import CSystemd
import Dispatch
import Foundation
package import HubTestServer

/// A notification service as a desktop has it, and a portal that opens links, doing what the test says.
///
/// `@unchecked Sendable`: `bus`, `source`, `last` and `isSilent` are touched on `queue` only.
package final class NotificationService: @unchecked Sendable {
    /// One call of `Notify`.
    package struct Shown: Sendable, Equatable {
        package let application: String
        package let replaces: UInt32
        package let summary: String
        package let body: String
        package let actions: [String]
        package let urgency: UInt8?
        package let timeout: Int32
        /// What it was answered.
        package let id: UInt32
    }

    package struct Failure: Error {
        package let code: Int32
    }

    package static let name = "org.freedesktop.Notifications"
    package static let portalName = "org.freedesktop.portal.Desktop"
    private static let path = "/org/freedesktop/Notifications"

    package let shown = Counter<Shown>()
    /// Numbers that we were asked to take off the screen.
    package let closed = Counter<UInt32>()
    /// Addresses that the portal was asked to open, with the activation token if there was one.
    package let opened = Counter<String>()

    private let capabilities: [String]
    private let queue = DispatchQueue(label: "test.notifications")
    private let bus: OpaquePointer
    private var source: (any DispatchSourceRead)?
    private var last: UInt32 = 0
    private var isSilent = false

    /// Connects, and owns `names`; with none of them it is a stranger on the bus.
    ///
    /// - Throws: ``Failure``.
    package init(
        _ bus: TestBus,
        capabilities: [String] = ["body", "body-markup", "actions"],
        names: [String] = [NotificationService.name]
    ) throws {
        self.capabilities = capabilities
        var made: OpaquePointer?
        try Self.check(sd_bus_new(&made))
        guard let made else { throw Failure(code: -ENOMEM) }
        self.bus = made
        try Self.check(sd_bus_set_address(made, bus.address))
        try Self.check(sd_bus_set_bus_client(made, 1))
        try Self.check(sd_bus_start(made))
        for name in names { try Self.check(sd_bus_request_name(made, name, 0)) }
        let source = DispatchSource.makeReadSource(fileDescriptor: sd_bus_get_fd(made), queue: queue)
        let connection = Connection(bus: made)
        source.setCancelHandler { sd_bus_close_unref(connection.bus) }
        source.setEventHandler { [weak self] in self?.serve() }
        self.source = source
        source.activate()
        queue.async { self.serve() }
    }

    deinit { source?.cancel() }

    private struct Connection: @unchecked Sendable {
        let bus: OpaquePointer
    }

    /// Leaves the bus; a second call does nothing.
    package func stop() async {
        await perform { service in
            // The name is free before the call returns.
            sd_bus_release_name(service.bus, Self.name)
            service.source?.cancel()
            service.source = nil
        }
    }

    /// Answers no call any more, or answers again.
    package func setSilent(_ isSilent: Bool) async { await perform { $0.isSilent = isSilent } }

    /// What a desktop does when a notification is clicked.
    package func click(_ id: UInt32, token: String? = nil) async {
        if let token { await emit("ActivationToken", id, text: token) }
        await emit("ActionInvoked", id, text: "default")
    }

    /// The user, or the desktop, has taken a notification away.
    package func close(_ id: UInt32) async {
        await perform { service in
            service.signal("NotificationClosed") { signal in
                var values: (UInt32, UInt32) = (id, 2)
                sd_bus_message_append_basic(signal, Kind.uint32, &values.0)
                sd_bus_message_append_basic(signal, Kind.uint32, &values.1)
            }
        }
    }

    /// Without a number it is not of the form that the specification has.
    package func emit(_ member: String, _ id: UInt32?, text: String) async {
        await perform { service in
            service.signal(member) { signal in
                if var id { sd_bus_message_append_basic(signal, Kind.uint32, &id) }
                sd_bus_message_append_basic(signal, Kind.string, text)
            }
        }
    }

    // MARK: On the queue

    private func perform(_ work: @escaping @Sendable (NotificationService) -> Void) async {
        await withCheckedContinuation { continuation in
            queue.async {
                if self.source != nil { work(self) }
                continuation.resume()
            }
        }
    }

    private func signal(_ member: String, _ body: (OpaquePointer) -> Void) {
        var signal: OpaquePointer?
        guard sd_bus_message_new_signal(bus, &signal, Self.path, Self.name, member) >= 0, let signal else { return }
        defer { sd_bus_message_unref(signal) }
        body(signal)
        sd_bus_send(bus, signal, nil)
        sd_bus_flush(bus)
    }

    private func serve() {
        while true {
            var message: OpaquePointer?
            let code = sd_bus_process(bus, &message)
            guard code >= 0 else {
                // The bus has gone.
                source?.cancel()
                source = nil
                return
            }
            if let message {
                answer(message)
                sd_bus_message_unref(message)
            } else if code == 0 {
                return
            }
        }
    }

    private func answer(_ call: OpaquePointer) {
        guard !isSilent else { return }
        var made: OpaquePointer?
        guard sd_bus_message_new_method_return(call, &made) >= 0, let reply = made else { return }
        defer { sd_bus_message_unref(reply) }
        if sd_bus_message_is_method_call(call, Self.name, "GetCapabilities") > 0 {
            sd_bus_message_open_container(reply, Kind.array, "s")
            for name in capabilities { sd_bus_message_append_basic(reply, Kind.string, name) }
            sd_bus_message_close_container(reply)
        } else if sd_bus_message_is_method_call(call, Self.name, "Notify") > 0 {
            var id = notify(call)
            sd_bus_message_append_basic(reply, Kind.uint32, &id)
        } else if sd_bus_message_is_method_call(call, Self.name, "CloseNotification") > 0 {
            var id: UInt32 = 0
            sd_bus_message_read_basic(call, Kind.uint32, &id)
            closed.append(id)
        } else if sd_bus_message_is_method_call(call, "org.freedesktop.portal.OpenURI", "OpenURI") > 0 {
            openURI(call)
            sd_bus_message_append_basic(reply, Kind.objectPath, "/org/freedesktop/portal/desktop/request/1")
        } else {
            return
        }
        sd_bus_send(bus, reply, nil)
        sd_bus_flush(bus)
    }

    private func notify(_ call: OpaquePointer) -> UInt32 {
        let application = Self.text(call)
        var replaces: UInt32 = 0
        sd_bus_message_read_basic(call, Kind.uint32, &replaces)
        _ = Self.text(call)
        let summary = Self.text(call)
        let body = Self.text(call)
        var actions: [String] = []
        sd_bus_message_enter_container(call, Kind.array, "s")
        while sd_bus_message_at_end(call, 0) == 0 { actions.append(Self.text(call)) }
        sd_bus_message_exit_container(call)
        var urgency: UInt8?
        sd_bus_message_enter_container(call, Kind.array, "{sv}")
        while sd_bus_message_enter_container(call, Kind.entry, "sv") > 0 {
            if Self.text(call) == "urgency" {
                var value: UInt8 = 0
                sd_bus_message_enter_container(call, Kind.variant, "y")
                sd_bus_message_read_basic(call, Kind.byte, &value)
                sd_bus_message_exit_container(call)
                urgency = value
            } else {
                sd_bus_message_skip(call, "v")
            }
            sd_bus_message_exit_container(call)
        }
        sd_bus_message_exit_container(call)
        var timeout: Int32 = 0
        sd_bus_message_read_basic(call, Kind.int32, &timeout)
        if replaces == 0 { last += 1 }
        let id = replaces == 0 ? last : replaces
        shown.append(
            Shown(
                application: application,
                replaces: replaces,
                summary: summary,
                body: body,
                actions: actions,
                urgency: urgency,
                timeout: timeout,
                id: id
            )
        )
        return id
    }

    private func openURI(_ call: OpaquePointer) {
        _ = Self.text(call)
        var opened = Self.text(call)
        sd_bus_message_enter_container(call, Kind.array, "{sv}")
        while sd_bus_message_enter_container(call, Kind.entry, "sv") > 0 {
            let name = Self.text(call)
            sd_bus_message_enter_container(call, Kind.variant, "s")
            opened += " \(name)=\(Self.text(call))"
            sd_bus_message_exit_container(call)
            sd_bus_message_exit_container(call)
        }
        self.opened.append(opened)
    }

    private static func text(_ message: OpaquePointer) -> String {
        var text: UnsafePointer<CChar>?
        sd_bus_message_read_basic(message, Kind.string, &text)
        return text.map { String(cString: $0) } ?? ""
    }

    private static func check(_ code: Int32) throws {
        if code < 0 { throw Failure(code: code) }
    }
}

/// The letters of the bus's types.
private enum Kind {
    static let array = CChar(UInt8(ascii: "a"))
    static let byte = CChar(UInt8(ascii: "y"))
    static let entry = CChar(UInt8(ascii: "e"))
    static let int32 = CChar(UInt8(ascii: "i"))
    static let objectPath = CChar(UInt8(ascii: "o"))
    static let string = CChar(UInt8(ascii: "s"))
    static let uint32 = CChar(UInt8(ascii: "u"))
    static let variant = CChar(UInt8(ascii: "v"))
}
