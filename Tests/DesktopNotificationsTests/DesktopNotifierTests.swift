import DesktopTestServer
import Foundation
import Glibc
import HubTestServer
import NetworkAddresses
import Testing

@testable import DesktopNotifications

/// The notifier on a bus of its own.
@Suite(.timeLimit(.minutes(5))) struct DesktopNotifierTests {
    private let folder: Folder
    private let reports = Counter<String>()

    private final class Folder: Sendable {
        let path = FileManager.default.temporaryDirectory.appending(path: "nw-\(UUID().uuidString.prefix(8))").path
        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    init() throws { folder = try Folder() }

    private func notifier(_ environment: [String: String], opener: String = "/nowhere/open") -> DesktopNotifier {
        let reports = reports
        return DesktopNotifier(environment: environment, program: opener) { reports.append($0) }
    }

    private func notification(
        _ key: String,
        urgency: DesktopNotification.Urgency = .normal,
        link: String = ""
    ) -> DesktopNotification {
        DesktopNotification(key: key, summary: "title \(key)", body: "a <b> & c", urgency: urgency, link: WebLink(link))
    }

    @Test func `a message is shown with its urgency, its text and an action for its link`() async throws {
        let bus = try await TestBus(folder: folder.path)
        let service = try NotificationService(bus)
        let notifier = notifier(bus.environment)
        try await notifier.show(notification("1", urgency: .critical, link: "https://example.org/"))
        try await notifier.show(notification("2", urgency: .low, link: "file:///etc/passwd"))
        let shown = await service.shown.elements(atLeast: 2)
        let first = try #require(shown.first)
        #expect(first.application == "newswire")
        #expect(first.replaces == 0)
        #expect(first.summary == "title 1")
        #expect(first.body == "a &lt;b&gt; &amp; c")
        #expect(first.actions == ["default", "Open"])
        #expect(first.urgency == 2)
        #expect(first.timeout == -1)
        #expect(shown.last?.actions == [])
        #expect(shown.last?.urgency == 0)
        await notifier.close()
    }

    @Test func `the same key replaces its notification until that is closed`() async throws {
        let bus = try await TestBus(folder: folder.path)
        let service = try NotificationService(bus)
        let notifier = notifier(bus.environment)
        for key in ["a", "b", "a"] { try await notifier.show(notification(key)) }
        await service.close(1)
        // Its answer comes after the signal.
        try await notifier.show(notification("c"))
        try await notifier.show(notification("a"))
        #expect(service.shown.elements.map(\.replaces) == [0, 0, 1, 0, 0])
        #expect(service.shown.elements.map(\.id) == [1, 2, 1, 3, 4])
        await notifier.close()
    }

    @Test func `a click opens the link through the portal, and only a click of the service`() async throws {
        let bus = try await TestBus(folder: folder.path)
        let service = try NotificationService(bus, names: [NotificationService.name, NotificationService.portalName])
        let otherService = try NotificationService(bus, names: [])
        let notifier = notifier(bus.environment)
        try await notifier.show(notification("1", link: "https://example.org/1"))
        try await notifier.show(notification("2"))
        try await notifier.show(notification("3", link: "https://example.org/3"))
        await otherService.click(1)
        await service.click(2)
        await service.click(77)
        await service.emit("ActionInvoked", 1, text: "other")
        for member in ["NotificationClosed", "ActionInvoked", "ActivationToken"] {
            await service.emit(member, nil, text: "of another form")
        }
        await service.click(3, token: "t3")
        await service.click(1)
        let opened = await service.opened.elements(atLeast: 2)
        #expect(opened == ["https://example.org/3 activation_token=t3", "https://example.org/1"])
        #expect(reports.elements == [])
        await notifier.close()
    }

    @Test func `a program that does not open a link is named`() async throws {
        let bus = try await TestBus(folder: folder.path)
        let service = try NotificationService(bus)
        let notifier = notifier(bus.environment, opener: "/bin/false")
        try await notifier.show(notification("1", link: "https://example.org/"))
        await service.click(1)
        #expect(await reports.elements(atLeast: 1) == ["cannot open 'https://example.org/': /bin/false exited with 1"])
        await notifier.close()
    }

    @Test func `where nothing can open links, that is said`() async throws {
        let bus = try await TestBus(folder: folder.path)
        let service = try NotificationService(bus)
        let notifier = notifier(bus.environment)
        try await notifier.show(notification("1", link: "https://example.org/"))
        await service.click(1)
        let report = try #require(await reports.elements(atLeast: 1).first)
        #expect(report.hasPrefix("cannot open 'https://example.org/': cannot run '/nowhere/open': "))
        #expect(report.hasSuffix("install xdg-utils or xdg-desktop-portal"))
        await notifier.close()
    }

    @Test func `a service that comes back is asked anew, and its numbers are`() async throws {
        let bus = try await TestBus(folder: folder.path)
        let first = try NotificationService(bus)
        let notifier = notifier(bus.environment)
        try await notifier.show(notification("1"))
        await first.stop()
        await #expect(throws: DesktopError.noService) { try await notifier.show(notification("1")) }
        let second = try NotificationService(bus, capabilities: ["body"])
        try await notifier.show(notification("1"))
        let shown = try #require(await second.shown.elements(atLeast: 1).first)
        #expect(shown.replaces == 0)
        #expect(shown.body == "a <b> & c")
        await notifier.close()
    }

    @Test func `a bus that comes back is used again`() async throws {
        let bus = try await TestBus(folder: folder.path)
        let notifier = notifier(bus.environment)
        let first = try NotificationService(bus)
        try await notifier.show(notification("1"))
        await bus.kill()
        let failure = await #expect(throws: DesktopError.self) { try await notifier.show(notification("2")) }
        guard case .noBus = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        await first.stop()
        try await bus.start()
        let second = try NotificationService(bus)
        try await notifier.show(notification("3"))
        #expect(await second.shown.elements(atLeast: 1).map(\.summary) == ["title 3"])
        // It may go and return unseen, too.
        await bus.kill()
        await second.stop()
        try await bus.start()
        let third = try NotificationService(bus)
        try await notifier.show(notification("4"))
        #expect(await third.shown.elements(atLeast: 1).map(\.summary) == ["title 4"])
        await notifier.close()
    }

    @Test func `a service that does not answer costs a time-out, and then nothing for a while`() async throws {
        let bus = try await TestBus(folder: folder.path)
        let service = try NotificationService(bus, names: [NotificationService.name, NotificationService.portalName])
        let notifier = notifier(bus.environment)
        try await notifier.show(notification("1", link: "https://example.org/1"))
        await service.setSilent(true)
        let limit = Duration.milliseconds(50)
        await #expect(throws: DesktopError.timedOut) { try await notifier.show(notification("2"), within: limit) }
        await service.setSilent(false)
        await #expect(throws: DesktopError.timedOut) { try await notifier.show(notification("3")) }
        #expect(service.shown.elements.map(\.summary) == ["title 1"])
        // What was shown before can be clicked all the same.
        await service.click(1)
        #expect(await service.opened.elements(atLeast: 1) == ["https://example.org/1"])
        await notifier.close()
    }

    @Test func `a socket at which nobody answers costs a time-out`() async throws {
        let path = "\(folder.path)/mute"
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let isListening = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(descriptor, 4) == 0
            }
        }
        try #require(isListening)
        let notifier = notifier(["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(path)"])
        await #expect(throws: DesktopError.timedOut) { try await notifier.connect(within: .milliseconds(50)) }
    }

    @Test(arguments: ["nonsense", "unix:path=/nowhere/bus", "unix:", "autolaunch:"])
    func `an address that leads nowhere is named`(address: String) async {
        let failure = await #expect(throws: DesktopError.self) {
            try await notifier(["DBUS_SESSION_BUS_ADDRESS": address]).connect()
        }
        #expect("\(failure.map { "\($0)" } ?? "")".hasPrefix("no session bus: '\(address)': "))
    }
}
