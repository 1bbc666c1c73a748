import Foundation
import HubProtocol
import HubStore
import Testing

@testable import HubServer

/// Why a phone got a message or did not, asked by installation and by handle.
struct PushDeviceTests {
    private func put(_ hub: TestHub, _ registration: Registration) async throws {
        _ = try await hub.hub.registrations.put(registration, if: .none, bytes: 0, grant: hub.manageGrant)
    }

    private func registration(
        _ id: RegistrationID = .random(),
        handle: String = "AABB",
        tags: [String],
        platform: Platform = .apns,
        template: String? = nil
    ) throws -> Registration {
        Registration(
            id: id,
            tags: try tags.map { try Tag($0) },
            platform: platform,
            pushChannel: .handle(handle),
            template: template.map { RegistrationTemplate(name: $0, body: #"{"aps":{"alert":"$(title)"}}"#) }
        )
    }

    @Test func `an installation's registrations are distinguished, tag by tag`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.install("phone", handle: "AABB", tags: ["World"])
            let native = try await hub.send(format: "apple", "{}", tags: "World && !Sports")
            let device = try #require(try await hub.report(native, "phone").device)
            #expect(device.outcome == .notDelivered && device.platform == .apns && device.tags == ["World"])
            #expect(
                device.explanation == [
                    "device 'phone' did not get it: AbandonedNotificationMessages: this hub had no credential for platform 'apns' when the message came"
                ]
            )
            let parts = try #require(device.registrations)
            #expect(parts.map(\.template) == [nil, "t"] && parts.map(\.matches) == [true, false])
            #expect(parts[0].tags == ["$InstallationId:{phone}", "World"])
            #expect(parts[0].expression?.operands?.map(\.holds) == [true, true])
            #expect(parts[1].reason == "it has a template, and a message of format 'apple' is for native registrations")
            #expect(parts[1].expression == nil && parts[0].id != nil && parts[0].installation?.text == "phone")

            let missed = try await hub.send(format: "apple", "{}", tags: "Sports")
            let why = try #require(try await hub.report(missed, "phone").device)
            #expect(why.outcome == .notMatched)
            #expect(
                why.explanation[0] == """
                    device 'phone' did not get it: for its native registration the expression needs 'Sports' and it has \
                    '$InstallationId:{phone}', 'World'; for its template 't' it has a template, and a message of format \
                    'apple' is for native registrations
                    """
            )
            let other = try await hub.send(format: "gcm", "{}")
            #expect(
                try await hub.report(other, "phone").device?.registrations?[0].reason
                    == "it is of platform 'apns', and the message of format 'gcm'"
            )
            let template = try await hub.send(format: "template", #"{"title":"x"}"#, tags: "World")
            let shown = try #require(try await hub.report(template, "phone").device)
            #expect(shown.registrations?.map(\.matches) == [false, true] && shown.templates?.map(\.matches) == [true])
        }
    }

    @Test func `of a handle with very many registrations some are looked at`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            for _ in 0...DeviceLookup.maximumOfHandle { try await put(hub, registration(tags: ["World"])) }
            let id = try await hub.send(format: "apple", "{}", tags: "World")
            let device = try #require(try await hub.report(id, "AABB").device)
            #expect(device.registrations?.count == DeviceLookup.maximumOfHandle)
            #expect(device.explanation.last == "it has many registrations; only the first 100 of them were examined")
            let filter = try RegistrationSelection.handle(
                HandleFilter(parsing: "ChannelUri eq 'AABB'"),
                hub.listenGrant
            )
            let first = try await hub.hub.registrations.page(filter, from: nil, limit: 100)
            #expect(first.registrations.count == 100)
            #expect(try await hub.hub.registrations.page(filter, from: first.next, limit: 100).registrations.count == 1)
        }
    }

    @Test func `a handle is answered for all its registrations, as they were when the message came`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let changing = RegistrationID.random()
            try await put(hub, try registration(changing, tags: ["World"]))
            try await put(hub, try registration(tags: ["Sports"], template: "own"))
            try await put(hub, try registration(handle: "CCDD", tags: ["World"]))
            try await hub.install("phone", handle: "aabb", tags: ["World"])
            let id = try await hub.send(format: "apple", "{}", tags: "World")
            #expect(try await hub.report(id).matched == ["apns": 3])
            try await put(hub, try registration(changing, tags: ["Sports"]))

            let device = try #require(try await hub.report(id, "AABB").device)
            #expect(device.id == "AABB" && device.outcome == .notDelivered && device.platform == .apns)
            let parts = try #require(device.registrations)
            #expect(parts.count == 4, "one changed, one with a template, two of the installation")
            let changed = try #require(parts.first { $0.id == changing })
            #expect(changed.matches && changed.tags == ["World"] && changed.tagsNow == ["Sports"])
            #expect(changed.expression?.holds == true)
            #expect(parts.first { $0.template == "own" }?.matches == false)
            #expect(parts.filter { $0.installation?.text == "phone" }.map(\.matches) == [true, false])

            let later = try await hub.send(format: "apple", "{}", tags: "World")
            let now = try #require(try await hub.report(later, "aabb").device?.registrations)
            #expect(now.first { $0.id == changing }?.matches == false)
        }
    }

    @Test func `a handle that is gone is known as it was`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let gone = try registration(tags: ["World"])
            try await put(hub, gone)
            let id = try await hub.send(format: "apple", "{}", tags: "World")
            try await hub.hub.registrations.delete(gone.id, if: .none)
            let device = try #require(try await hub.report(id, "AABB").device)
            #expect(device.outcome == .notDelivered && device.registrations?.map(\.matches) == [true])
            let later = try await hub.send(format: "apple", "{}", tags: "World")
            #expect(try await hub.report(later, "AABB").device?.outcome == .notRegistered)
            try await put(hub, try registration(handle: "EEFF", tags: ["World"]))
            #expect(try await hub.report(later, "EEFF").device?.outcome == .registeredLater)
            #expect(try await hub.report(later, "unknown").device?.outcome == .notRegistered)
        }
    }

    @Test func `a direct send is answered by handle, registered or not`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.install("phone", handle: "AABB", tags: ["World"])
            let id = try await hub.send(format: "apple", "{}", device: "aabb")
            let device = try #require(try await hub.report(id, "phone").device)
            #expect(device.outcome == .notDelivered)
            #expect(device.registrations?.map(\.reason).first == "the message was sent directly to its handle")
            #expect(try await hub.report(id, "AABB").device?.registrations?.map(\.matches) == [true, true])

            let other = try await hub.send(format: "apple", "{}", device: "CCDD")
            let missed = try #require(try await hub.report(other, "phone").device)
            #expect(missed.outcome == .notMatched)
            #expect(
                missed.explanation[0].contains(
                    "for its native registration the message was sent directly to another handle"
                )
            )
            let unknown = try #require(try await hub.report(other, "ccdd").device)
            #expect(unknown.outcome == .notDelivered && unknown.registrations == nil)
            #expect(
                unknown.explanation[0].contains(": this hub had no credential for platform 'apns'")
            )
        }
    }

    @Test func `a direct send asks for the handle, not for what is registered under it`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await put(hub, try registration(tags: [], template: "t"))
            try await put(hub, try registration(handle: "token", tags: [], platform: .gcm))
            let apple = try await hub.send(format: "apple", "{}", device: "AABB")
            #expect(try await hub.report(apple, "AABB").device?.outcome == .notDelivered)
            let migrated = try await hub.send(format: "fcmv1", "{}", device: "token")
            let device = try #require(try await hub.report(migrated, "token").device)
            #expect(device.outcome == .notDelivered)
            #expect(device.explanation[0].contains("had no credential for platform 'fcmv1'"), "\(device.explanation)")
        }
    }

    @Test func `what a platform cannot take is said of the device, too`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.install("phone", handle: "AABB", tags: [])
            let body = "{\"a\":\"" + String(repeating: "x", count: 5_000) + "\"}"
            let id = try await hub.send(format: "apple", body)
            let device = try #require(try await hub.report(id, "phone").device)
            #expect(device.explanation[1] == "its body has 5008 bytes, and platform 'apns' accepts at most 4096")
        }
    }

    @Test func `a message for other platforms is explained by the device's platform`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.register(Agent("agent", tags: ["World"]))
            try await hub.install("phone", handle: "AABB", tags: ["World"])
            let native = try await hub.send(format: "stream", #"{"title":"x"}"#, tags: "World")
            #expect(try await hub.report(native, "phone").device?.outcome == .notMatched)
            let apple = try await hub.send(format: "apple", "{}", tags: "World")
            let agent = try #require(try await hub.report(apple, "agent").device)
            #expect(agent.outcome == .notMatched)
            #expect(
                agent.explanation[0] == """
                    device 'agent' did not get it: the message is of format 'apple', and agents get templates and \
                    format 'stream' only
                    """
            )
            let missed = try await hub.send(format: "stream", "{}", tags: "Sports")
            #expect(
                try await hub.report(missed, "agent").device?.explanation[0].contains("the expression needs 'Sports'")
                    == true
            )
        }
    }
}
