import Crypto
import Foundation
import HubProtocol
import PushEmulator
import Testing

@testable import HubServer

/// The keys that browsers subscribe with, and the platforms that are not delivered to.
struct EmulatedKeyTests {
    private func key(_ reply: Reply) throws -> (id: String, bytes: [UInt8]) {
        try #require(reply.status == 200, "\(reply.body)")
        let report = try JSONDecoder().decode(BrowserKeyReport.self, from: Data(reply.body.utf8))
        return (report.keyID, try #require(Base64URL.decode(report.publicKey)))
    }

    private func send(_ hub: TestHub, tags: String = "World") async throws -> [Platform: [OutcomeName: Int]] {
        let id = try await hub.send(format: "browser", #"{"title":"Flood"}"#, tags: tags)
        await hub.settlePushes()
        return try await hub.outcomes(id)
    }

    @Test func `a subscription goes on with the key that it was made with when the hub has another`() async throws {
        try await EmulatedHub.run { hub, emulator in
            let first = try key(try await hub.send("GET", "browser-key", as: hub.listen))
            #expect(first.bytes.count == 65)
            let old = emulator.makeBrowserSubscription(senderKey: first.bytes)
            try await hub.register("1-1-1", .browser, .browser(old))
            #expect(try await send(hub) == [.browser: [.success: 1]])

            #expect(try await hub.send("POST", "browser-key", as: hub.listen).status == 401)
            let second = try key(try await hub.send("POST", "browser-key", as: hub.full))
            #expect(second.bytes != first.bytes && second.id != first.id)
            #expect(try key(try await hub.send("GET", "browser-key", as: hub.listen)).bytes == second.bytes)
            let new = emulator.makeBrowserSubscription(senderKey: second.bytes)
            try await hub.register("2-2-2", .browser, .browser(new))
            #expect(try await send(hub) == [.browser: [.success: 2]])

            // A browser that comes back with what it has is still bound to the key of then.
            try await hub.register("1-1-1", .browser, .browser(old))
            #expect(try await send(hub) == [.browser: [.success: 2]])
            _ = try key(try await hub.send("POST", "browser-key", as: hub.full))
            #expect(try await send(hub) == [.browser: [.success: 2]])
            let messages = emulator.inbox(of: old.endpoint).map(\.message)
            #expect(messages == Array(repeating: #"{"title":"Flood"}"#, count: 4))
            #expect(emulator.inbox(of: new.endpoint).count == 3)
        }
    }

    @Test func `a subscription with a foreign key is a wrong token, and stays`() async throws {
        try await EmulatedHub.run { hub, emulator in
            let foreign = [UInt8](P256.Signing.PrivateKey().publicKey.x963Representation)
            let foreignBrowser = emulator.makeBrowserSubscription(senderKey: foreign)
            let own = emulator.makeBrowserSubscription()
            try await hub.register("1-1-1", .browser, .browser(foreignBrowser), tags: ["Foreign"])
            try await hub.register("2-2-2", .browser, .browser(own))
            let id = try await hub.send(format: "browser", "{}", tags: "Foreign")
            await hub.settlePushes()
            #expect(try await hub.outcomes(id) == [.browser: [.wrongToken: 1]])
            #expect(try await hub.failures(id).first?.reason.contains("VAPID key") == true)
            #expect(try await hub.send("GET", "registrations/1-1-1", as: hub.full).status == 200)
            #expect(emulator.inbox(of: foreignBrowser.endpoint).isEmpty)
            #expect(try await send(hub) == [.browser: [.success: 1]], "nothing waits for it")
        }
    }

    @Test func `a browser is not sent a message without a text for it`() async throws {
        try await EmulatedHub.run { hub, emulator in
            let (main, french) = (emulator.makeBrowserSubscription(), emulator.makeBrowserSubscription())
            let inFrench = RegistrationTemplate(
                name: BrowserTemplate.name,
                body: BrowserTemplate.body(in: try LanguageName("French"))
            )
            let standard = RegistrationTemplate(name: BrowserTemplate.name, body: BrowserTemplate.body)
            try await hub.register("1-1-1", .browser, .browser(main), template: standard)
            try await hub.register("2-2-2", .browser, .browser(french), template: inFrench)
            let id = try await hub.send(format: "template", #"{"title":"Flood","story":"s"}"#, tags: "World")
            await hub.settlePushes()
            #expect(try await hub.outcomes(id) == [.browser: [.success: 1, .skipped: 1]])
            let reason = "the message has no text for the browser's template"
            #expect(try await hub.failures(id).map(\.reason) == [reason])
            #expect(emulator.inbox(of: main.endpoint).count == 1 && emulator.inbox(of: french.endpoint).isEmpty)
            let both = #"{"title":"Flood","News_French":"Inondation","story":"s"}"#
            let second = try await hub.send(format: "template", both, tags: "World")
            await hub.settlePushes()
            #expect(try await hub.outcomes(second) == [.browser: [.success: 2]])
            #expect(emulator.inbox(of: french.endpoint).count == 1)
        }
    }

    @Test(
        arguments: [
            (
                "windowsphone", Platform.mpns, "https://phone.example/1",
                #"<wp:Notification xmlns:wp="WPNotification"><wp:Toast><wp:Text1>x</wp:Text1></wp:Toast></wp:Notification>"#
            ),
            ("adm", .adm, "adm-token", #"{"data":{"m":"x"}}"#), ("baidu", .baidu, "user-channel", #"{"title":"t"}"#),
            ("xiaomi", .xiaomi, "xiaomi-token", #"{"title":"t"}"#),
        ]
    )
    func `what the hub does not deliver to is registered, and its outcome says so`(
        format: String,
        platform: Platform,
        handle: String,
        body: String
    ) async throws {
        try await EmulatedHub.run { hub, _ in
            try await hub.register("1-1-1", platform, .handle(handle))
            let id = try await hub.send(format: format, body, tags: "World")
            await hub.settlePushes()
            if platform == .xiaomi {
                // There is no credential for it, so that nothing is queued.
                #expect(try await hub.details(id).state == .abandoned)
                #expect(try await hub.outcomes(id) == [platform: [.abandoned: 1]])
            } else {
                #expect(try await hub.details(id).state == .completed)
                #expect(try await hub.outcomes(id) == [platform: [.invalidNotificationFormat: 1]])
                #expect(try await hub.failures(id).first?.reason.contains("does not deliver") == true)
            }
            let device = try #require(try await hub.report(id, handle).device)
            #expect(device.outcome == .notDelivered)
            #expect(device.explanation[0].contains("did not get it"), "\(device.explanation)")
            let test = try await hub.test(format, body)
            #expect(test.success == 0 && test.failure == 1)
            #expect(test.results.first?.outcome.contains("Nothing was sent") == true, "\(test.results)")
            #expect(try await hub.send("GET", "registrations/1-1-1", as: hub.full).status == 200)
        }
    }
}
