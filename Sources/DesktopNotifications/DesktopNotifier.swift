import Dispatch
internal import NetworkAddresses
internal import Signals

/// Shows notifications on the user's desktop, and opens the links of those that are clicked.
///
/// A lost connection is opened again for the next notification. Clicks are handled at any time.
///
/// `@unchecked Sendable`: `session`, `source`, `shown`, `token` and `pause` are used on `queue` only. Bus calls block,
/// so the queue is used for nothing else.
package final class DesktopNotifier: @unchecked Sendable {
    /// Time for one notification: connecting, and two calls, for which a service may have to be started.
    package static let timeout = Duration.seconds(5)
    /// Time for the desktop to start a browser.
    private static let openTimeout = Duration.seconds(5)
    /// Time for which a service that did not reply is not called, so that it does not delay every message.
    private static let pauseLength = Duration.seconds(30)

    private let environment: [String: String]
    private let opener: LinkOpener
    private let report: @Sendable (String) -> Void
    private let queue = DispatchQueue(label: "newswire.desktop")

    private var session: NotificationSession?
    private var source: (any DispatchSourceRead)?
    private var shown = ShownNotifications()
    private var token: (id: UInt32, text: String)?
    private var pause: ContinuousClock.Instant?

    /// Makes a notifier without a connection.
    ///
    /// - Parameters:
    ///   - environment: Names the bus, and is the environment of the program that opens links.
    ///   - program: The program that opens links.
    ///   - report: Called with a line for the user when a link cannot be opened.
    package init(
        environment: [String: String],
        program: String = LinkOpener.standard,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.environment = environment
        self.report = report
        opener = LinkOpener(program: program, environment: environment, report: report)
    }

    deinit { source?.cancel() }

    /// Checks whether notifications can be shown; cheap while a connection is open.
    package func connect(within limit: Duration = DesktopNotifier.timeout) async throws(DesktopError) {
        try await perform(within: limit) { notifier, deadline throws(DesktopError) in
            _ = try notifier.connected(deadline)
        }
    }

    /// Returns true if `notification` would replace one that may still be on the screen.
    package func replacesShown(_ notification: DesktopNotification) async -> Bool {
        await queue.run { !self.shown.ids(replacedBy: notification).isEmpty }
    }

    /// Shows a notification, replacing an earlier one with its key or those that it names.
    package func show(
        _ notification: DesktopNotification,
        within limit: Duration = DesktopNotifier.timeout
    ) async throws(DesktopError) {
        try await perform(within: limit) { notifier, deadline throws(DesktopError) in
            let session = try notifier.connected(deadline)
            var former = notifier.shown.ids(replacedBy: notification)[...]
            let id = try session.show(notification, replacing: former.popFirst() ?? 0, deadline: deadline)
            notifier.shown.add(id, notification)
            for other in former where other != id {
                notifier.shown.remove(other)
                try session.close(other, deadline: deadline)
            }
        }
    }

    /// Closes the connection; notifications stay on the screen, but a click on them no longer opens a page.
    package func close() async {
        await queue.run { self.disconnect() }
    }

    // MARK: On the queue

    private func perform(
        within limit: Duration,
        _ work: @escaping @Sendable (DesktopNotifier, BusDeadline) throws(DesktopError) -> Void
    ) async throws(DesktopError) {
        if let failure = await queue.run({ self.attempt(within: min(limit, Self.timeout), work) }) { throw failure }
    }

    private func attempt(
        within limit: Duration,
        _ work: (DesktopNotifier, BusDeadline) throws(DesktopError) -> Void
    ) -> DesktopError? {
        if let pause, pause > .now { return .timedOut }
        pause = nil
        let deadline = BusDeadline(after: limit)
        // The service may have exited since the last call.
        handleEvents()
        let wasConnected = session != nil
        do {
            do {
                try work(self, deadline)
            } catch .disconnected where wasConnected {
                // The bus may have restarted.
                disconnect()
                try work(self, deadline)
            }
            handleEvents()
            return nil
        } catch {
            switch error {
            // Notifications on the screen can still be clicked.
            case .timedOut: pause = .now + Self.pauseLength
            case .noBus, .noService, .disconnected: disconnect()
            case .refused: break
            }
            return error
        }
    }

    private func connected(_ deadline: BusDeadline) throws(DesktopError) -> NotificationSession {
        if let session { return session }
        let session = try NotificationSession(
            address: try SessionBusAddress.find(in: environment),
            deadline: deadline
        )
        let source = DispatchSource.makeReadSource(fileDescriptor: session.descriptor, queue: queue)
        source.setEventHandler { [weak self] in self?.handleEvents() }
        // Keeps the descriptor open until the source no longer watches it.
        source.setCancelHandler { withExtendedLifetime(session) {} }
        source.activate()
        self.session = session
        self.source = source
        return session
    }

    private func disconnect() {
        source?.cancel()
        source = nil
        session = nil
        token = nil
        shown.removeAll()
    }

    private func handleEvents() {
        do throws(DesktopError) {
            while let event = try session?.nextEvent() { handle(event) }
        } catch {
            disconnect()
        }
    }

    private func handle(_ event: NotificationSession.Event) {
        switch event {
        case .closed(let id): shown.remove(id)
        case .activationToken(let id, let text): token = (id, text)
        case .clicked(let id): open(id)
        case .serviceChanged: disconnect()
        }
    }

    /// Opens the link of the notification with this number.
    private func open(_ id: UInt32) {
        guard let link = shown.link(of: id), let session else { return }
        let token = token.flatMap { $0.id == id ? $0.text : nil }
        self.token = nil
        do throws(DesktopError) {
            try session.openThroughPortal(link, token: token, deadline: BusDeadline(after: Self.openTimeout))
        } catch .timedOut {
            // The link may still open: do not start a second browser.
            report("cannot open '\(link.text)': the desktop does not answer")
        } catch {
            opener.open(link, token: token)
        }
    }
}
