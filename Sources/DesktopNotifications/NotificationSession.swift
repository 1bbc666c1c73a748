internal import NetworkAddresses

/// A connection to the notification service on the session bus.
///
/// Source: Desktop Notifications Specification 1.2; XDG Desktop Portal, `org.freedesktop.portal.OpenURI`.
final class NotificationSession {
    /// An event of a notification that we have shown.
    enum Event: Equatable {
        case clicked(UInt32)
        /// Precedes the click, and lets the browser come to the front.
        case activationToken(UInt32, String)
        case closed(UInt32)
        /// Another service owns the name, or none does: the numbers of notifications are no longer valid.
        case serviceChanged
    }

    /// The action of a click on the notification itself.
    static let defaultAction = "default"

    /// The program's name in notifications.
    private static let application = "newswire"
    private static let service = SessionBus.Target(
        name: "org.freedesktop.Notifications",
        path: "/org/freedesktop/Notifications",
        interface: "org.freedesktop.Notifications"
    )
    private static let portal = SessionBus.Target(
        name: "org.freedesktop.portal.Desktop",
        path: "/org/freedesktop/portal/desktop",
        interface: "org.freedesktop.portal.OpenURI"
    )
    /// Maximum number of capabilities read: more than any service has.
    private static let maximumCapabilities = 64
    /// Maximum bytes of an activation token, which is passed on in an environment variable.
    private static let maximumToken = 1_000

    private let bus: SessionBus
    private let capabilities: ServiceCapabilities
    /// The service's unique name on this bus: signals from other senders are ignored.
    private let owner: String?

    /// Connects, and reads the service's capabilities; the bus starts the service if it can.
    init(address: String, deadline: BusDeadline) throws(DesktopError) {
        bus = try SessionBus(address: address, deadline: deadline)
        // Before the first call, so that the exit of the service after it is noticed.
        try bus.subscribe("type='signal',interface='\(Self.service.interface)'", deadline: deadline)
        try bus.subscribe(
            "type='signal',sender='\(SessionBus.daemon.name)',member='NameOwnerChanged',arg0='\(Self.service.name)'",
            deadline: deadline
        )
        let answer = try bus.call(Self.service, "GetCapabilities", deadline: deadline)
        capabilities = ServiceCapabilities(try answer.readTexts(limit: Self.maximumCapabilities))
        owner = answer.sender
    }

    var descriptor: Int32 { bus.descriptor }

    /// Shows a notification that replaces the one with the number `replaced`; 0 for none.
    ///
    /// - Returns: Its number.
    /// - Throws: ``DesktopError``.
    func show(
        _ notification: DesktopNotification,
        replacing replaced: UInt32,
        deadline: BusDeadline
    ) throws(DesktopError) -> UInt32 {
        let text = notification.text(for: capabilities)
        let isClickable = notification.link != nil && capabilities.hasActions
        let answer = try bus.call(Self.service, "Notify", deadline: deadline) { message throws(DesktopError) in
            try message.append(Self.application)
            try message.append(replaced)
            // No icon: the service shows its own for the application's name.
            try message.append("")
            try message.append(text.summary)
            try message.append(text.body)
            try message.append(isClickable ? [Self.defaultAction, "Open"] : [])
            try message.appendDictionary { () throws(DesktopError) in
                try message.appendMember("urgency", "y") { () throws(DesktopError) in
                    try message.append(notification.urgency.rawValue)
                }
            }
            // The service decides how long the notification stays.
            try message.append(Int32(-1))
        }
        return try answer.readNumber()
    }

    /// Removes a notification from the screen, if it is still there.
    func close(_ id: UInt32, deadline: BusDeadline) throws(DesktopError) {
        do throws(DesktopError) {
            _ = try bus.call(Self.service, "CloseNotification", deadline: deadline) { message throws(DesktopError) in
                try message.append(id)
            }
        } catch .refused {}
    }

    /// Lets the desktop open a link, so that the browser is neither a child process nor a part of our service.
    func openThroughPortal(_ link: WebLink, token: String?, deadline: BusDeadline) throws(DesktopError) {
        _ = try bus.call(Self.portal, "OpenURI", deadline: deadline) { message throws(DesktopError) in
            // No parent window.
            try message.append("")
            try message.append(link.text)
            try message.appendDictionary { () throws(DesktopError) in
                guard let token else { return }
                try message.appendMember("activation_token", "s") { () throws(DesktopError) in
                    try message.append(token)
                }
            }
        }
    }

    /// Returns the next event since the last call; does not wait.
    ///
    /// - Throws: ``DesktopError/disconnected``.
    func nextEvent() throws(DesktopError) -> Event? {
        while let signal = try bus.nextSignal() {
            // Malformed signals are ignored.
            if let event = try? event(of: signal) { return event }
        }
        return nil
    }

    private func event(of signal: BusMessage) throws(DesktopError) -> Event? {
        if signal.isSignal(SessionBus.daemon.interface, "NameOwnerChanged") {
            guard signal.sender == SessionBus.daemon.name, try signal.readText() == Self.service.name else {
                return nil
            }
            // Our own first call also causes this signal if it has started the service.
            _ = try signal.readText()
            return try signal.readText() == owner ? nil : .serviceChanged
        }
        guard signal.sender == owner else { return nil }
        if signal.isSignal(Self.service.interface, "NotificationClosed") { return .closed(try signal.readNumber()) }
        if signal.isSignal(Self.service.interface, "ActivationToken") {
            let id = try signal.readNumber()
            let token = try signal.readText()
            return token.utf8.count <= Self.maximumToken ? .activationToken(id, token) : nil
        }
        guard signal.isSignal(Self.service.interface, "ActionInvoked") else { return nil }
        let id = try signal.readNumber()
        return try signal.readText() == Self.defaultAction ? .clicked(id) : nil
    }
}
