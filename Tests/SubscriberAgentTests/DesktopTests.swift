import DesktopNotifications
import DesktopTestServer
import Foundation
import HubTestServer
import ServerSentEvents
import Synchronization
import Testing

@testable import SubscriberAgent

/// Messages on a desktop, and what becomes of them where there is none.
@Suite(.timeLimit(.minutes(5))) struct DesktopTests {
    let stage: Stage
    var output: FakeOutput { stage.output }

    init() throws { stage = try Stage() }

    /// Of the agent: a path of its own, and where its desktop is.
    private func variables(_ more: [String: String]) -> [String: String] {
        ["PATH": "/usr/bin:/bin", "HOME": stage.scratch.path].merging(more) { $1 }
    }

    /// Of a stream that has caught up: the hub says so before and after.
    private func message(_ number: Int, _ members: String) {
        stage.hub.streams[0].heartbeat("e-\(number - 1)")
        stage.hub.streams[0].send(
            .init(id: "e-\(number)", data: #"{"id":"m\#(number)","template":"newswire","body":{\#(members)}}"#)
        )
    }

    @Test func `messages are shown and not printed, with urgency, and a story replaces itself`() async throws {
        let bus = try await TestBus(folder: stage.scratch.path)
        let service = try NotificationService(bus)
        let agent = try stage.agent(variables: variables(bus.environment))
        let task = try stage.start(agent, handler: .print, notifying: true)
        message(1, #""title":"One","message":"Breaking: One","category":"World","urgency":"high","story":"s""#)
        message(2, #""title":"Two","message":"Two","category":"World","link":"https://example.org/2""#)
        message(3, #""title":"","message":"Three","category":"","urgency":7,"link":"ftp://example.org/""#)
        message(4, #""title":"One, again","message":"over","story":"s""#)
        let shown = await service.shown.elements(atLeast: 4)
        try await stage.stop(task)
        #expect(shown.map(\.summary) == ["One", "Two", "Three", "One, again"])
        #expect(shown.map(\.body) == ["Breaking: One", "World", "", "over"])
        #expect(shown.map(\.urgency) == [2, 1, 1, 1])
        #expect(shown.map(\.actions.isEmpty) == [true, false, true, true])
        #expect(shown.map(\.replaces) == [0, 0, 0, 1])
        #expect(output.lines == [])
        #expect(try await agent.inbox(last: 9).allSatisfy { $0.state == .done })
        #expect(stage.world.warnings == [])
    }

    @Test func `a story of several categories is shown once, and so is its correction`() async throws {
        let bus = try await TestBus(folder: stage.scratch.path)
        let service = try NotificationService(bus)
        let agent = try stage.agent(variables: variables(bus.environment))
        let task = try stage.start(agent, handler: .print, notifying: true)
        let correction = #","story":"s","version":"w","status":"correction","replaces":"s""#
        message(1, #""title":"World","category":"World","story":"s","version":"v""#)
        message(2, #""title":"Europe","category":"Europe","story":"s","version":"v""#)
        message(3, #""title":"World, corrected","category":"World""# + correction)
        message(4, #""title":"Europe, corrected","category":"Europe""# + correction)
        message(5, #""title":"Other","category":"Europe","story":"t","version":"v""#)
        let shown = await service.shown.elements(atLeast: 3)
        try await stage.stop(task)
        #expect(shown.map(\.summary) == ["World", "World, corrected", "Other"])
        #expect(shown.map(\.replaces) == [0, 1, 0])
        #expect(output.lines == [])
        #expect(try await agent.inbox(last: 9).map(\.sameAs) == [nil, "m1", nil, "m3", nil])
    }

    @Test func `without a session bus that is said once, and messages are printed`() async throws {
        let agent = try stage.agent(variables: variables(["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere/bus"]))
        let task = try stage.start(agent, handler: .print, notifying: true)
        message(1, #""message":"One""#)
        message(2, #""message":"Two""#)
        await output.wait(forLines: 2)
        try await stage.stop(task)
        #expect(output.lines == ["One", "Two"])
        #expect(
            stage.world.warnings == [
                "cannot show notifications: no session bus: 'unix:path=/nowhere/bus': no such file or directory; "
                    + "messages are printed instead"
            ]
        )
        #expect(stage.world.hints == [.noDesktop])
    }

    @Test func `a desktop that goes is said once, and once that it is back`() async throws {
        let bus = try await TestBus(folder: stage.scratch.path)
        let first = try NotificationService(bus)
        let task = try stage.start(try stage.agent(variables: variables(bus.environment)), notifying: true)
        message(1, #""message":"One""#)
        // Printed after it was shown.
        await output.wait(forLines: 1)
        await bus.kill()
        await first.stop()
        message(2, #""message":"Two""#)
        message(3, #""message":"Three""#)
        await output.wait(forLines: 3)
        try await bus.start()
        let second = try NotificationService(bus)
        message(4, #""message":"Four""#)
        await output.wait(forLines: 4)
        try await stage.stop(task)
        #expect(first.shown.elements.map(\.summary) == ["One"])
        #expect(second.shown.elements.map(\.summary) == ["Four"])
        #expect(stage.world.warnings.count == 1)
        #expect(stage.world.notices.filter { $0.contains("notifications") } == ["notifications can be shown again"])
    }

    @Test func `after an absence the newest few are shown and one for the rest, and all are printed as JSON`()
        async throws
    {
        let bus = try await TestBus(folder: stage.scratch.path)
        let service = try NotificationService(bus)
        let agent = try stage.agent(variables: variables(bus.environment))
        try await agent.store.receive([.sample(1)], cursor: nil, at: .sample)
        let task = try stage.start(agent, notifying: true)
        await stage.hub.streams[0].connected()
        // One by one, as the hub's log gives them: the queue of the agent alone does not tell how many are to come, and
        // a worker that did not wait for more would be done with each long before it was looked at so often.
        for number in 2...20 {
            stage.hub.streams[0].message(number, id: "e-\(number)")
            try await agent.store.wait(forRows: number)
            for _ in 0..<40 { #expect(try await agent.inbox(last: 99).allSatisfy { $0.state != .done }) }
        }
        #expect(service.shown.elements.isEmpty)
        stage.hub.streams[0].heartbeat("e-20")
        let shown = await service.shown.elements(atLeast: 6)
        await output.wait(forLines: 20)
        try await stage.stop(task)
        #expect(shown.map(\.summary) == ["15 earlier messages"] + (16...20).map { "title \($0)" })
        #expect(output.lines.count == 20)
    }

    @Test func `a withdrawal replaces what is seen, and all that it names`() async throws {
        let bus = try await TestBus(folder: stage.scratch.path)
        let service = try NotificationService(bus)
        let agent = try stage.agent(variables: variables(bus.environment))
        let task = try stage.start(agent, handler: .print, notifying: true)
        message(1, #""title":"Flood","story":"s","urgency":"critical""#)
        message(2, #""title":"Flood, too","story":"t""#)
        _ = await service.shown.elements(atLeast: 2)
        message(3, #""title":"Cancelled: Flood","story":"s","status":"withdrawn","replaces":"s t""#)
        let shown = await service.shown.elements(atLeast: 3)
        let closed = await service.closed.elements(atLeast: 1)
        message(4, #""title":"Correction: x","story":"u","status":"correction","replaces":"gone""#)
        // As 'newswire send --property status=withdrawn' does it by hand.
        message(5, #""title":"Bridge closed","story":"v","status":"withdrawn""#)
        _ = await service.shown.elements(atLeast: 5)
        try await stage.stop(task)
        #expect(
            service.shown.elements.suffix(3).map(\.summary) == [
                "Cancelled: Flood", "Correction: x", "Withdrawn: Bridge closed",
            ]
        )
        #expect(shown.map(\.replaces) == [0, 0, 1])
        #expect(shown.map(\.urgency) == [2, 1, 1])
        #expect(closed == [2])
        #expect(service.shown.elements.last?.replaces == 0)
        #expect(try await agent.inbox(last: 9).map(\.supersession) == [.withdrawn, .withdrawn, nil, nil, nil])
    }

    @Test func `after an absence what was withdrawn meanwhile is not shown, and what is seen is taken back at once`()
        async throws
    {
        let bus = try await TestBus(folder: stage.scratch.path)
        let service = try NotificationService(bus)
        let notifier = DesktopNotifier(environment: bus.environment) { _ in }
        let desktop = DesktopHandler(notifier: notifier, reporter: stage.world.environment.reporter, beside: .print)
        func show(_ ordinal: Int64, _ members: String, waiting: Int, _ mark: InboxRecord.Supersession? = nil) async {
            var record = InboxRecord.sample(ordinal: ordinal, body: "{\(members)}")
            record.supersession = mark
            #expect(await desktop.show(record, waiting: waiting, within: .seconds(5)))
        }
        await show(1, #""title":"Flood","story":"s""#, waiting: 0)
        await show(2, #""title":"Fire","story":"f""#, waiting: 9, .withdrawn)
        await show(3, #""title":"Cancelled: Fire","story":"f","status":"withdrawn""#, waiting: 8)
        await show(7, #""title":"Gale","story":"g","urgency":"critical""#, waiting: 8, .replaced)
        await show(8, #""title":"Gale, still","story":"g","urgency":"critical""#, waiting: 8)
        await show(4, #""title":"Cancelled: Flood","story":"s","status":"withdrawn""#, waiting: 7)
        await show(5, #""title":"Storm","story":"o""#, waiting: 1, .replaced)
        await show(6, #""title":"Storm is over","story":"o","status":"update""#, waiting: 0)
        let shown = await service.shown.elements(atLeast: 5)
        await desktop.close()
        let expected = ["Flood", "Gale, still", "Cancelled: Flood", "One earlier message", "Storm is over"]
        #expect(shown.map(\.summary) == expected)
        #expect(shown.map(\.replaces) == [0, 0, 1, 0, 0])
    }

    @Test func `what was only counted is shown when the agent stops`() async throws {
        let bus = try await TestBus(folder: stage.scratch.path)
        let service = try NotificationService(bus)
        let agent = try stage.agent(variables: variables(bus.environment))
        try await agent.store.receive((1...9).map { .sample($0) }, cursor: nil, at: .sample)
        let gate = Gate()
        output.hold(at: gate)
        let task = try stage.start(agent, notifying: true)
        stage.hub.streams[0].heartbeat("e-1")
        await output.waitForStart()
        task.cancel()
        gate.open()
        #expect(try await task.value == .stopped)
        #expect(service.shown.elements.map(\.summary) == ["One earlier message"])
        #expect(try await agent.inbox(last: 9).map(\.state) == [.done] + Array(repeating: .pending, count: 8))
    }

    @Test func `what is left of an earlier run is shown also while the hub is away`() async throws {
        let bus = try await TestBus(folder: stage.scratch.path)
        let service = try NotificationService(bus)
        let agent = try stage.agent(variables: variables(bus.environment))
        try await agent.store.receive([.sample(1)], cursor: nil, at: .sample)
        stage.hub.set { $0.streamReplies = [ScriptedHub.error(503, "busy")] }
        stage.world.onSleep.withLock { $0 = { _ in await stage.output.wait(forLines: 1) } }
        let task = try stage.start(agent, notifying: true)
        #expect(await service.shown.elements(atLeast: 1).map(\.summary) == ["title 1"])
        await output.wait(forLines: 1)
        try await stage.stop(task)
    }

    @Test func `a program that fails is tried again, and its message shown once`() async throws {
        let bus = try await TestBus(folder: stage.scratch.path)
        let service = try NotificationService(bus)
        let program = try await stage.scratch.script("failing", "exit 1")
        let agent = try stage.agent(variables: variables(bus.environment))
        let task = try stage.start(agent, handler: .exec(program: program), notifying: true)
        message(1, #""title":"One""#)
        message(2, #""title":"Two""#)
        await stage.world.changes.wait { stage.world.warnings.count == 2 }
        try await stage.stop(task)
        #expect(service.shown.elements.map(\.summary) == ["One", "Two"])
        #expect(try await agent.inbox(last: 9).map(\.state) == [.failed, .failed])
    }

    @Test func `a message whose handling was cut short is shown as a repeat`() {
        let notification = DesktopNotification(.sample(attempts: 2))
        #expect(notification.summary == "(again) title")
        #expect(notification.key == "message:m1")
        #expect(DesktopNotification(.sample(title: "", message: "")).summary == "(no text)")
    }
}
