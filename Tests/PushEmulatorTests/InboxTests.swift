import Foundation
import HubProtocol
import Testing

@testable import PushEmulator

@Suite struct InboxTests {
    private func delivery(_ text: String = "x", collapse: String? = nil) -> EmulatedDelivery {
        EmulatedDelivery(
            sequence: 0,
            service: .fcm,
            handle: "d",
            receivedAt: 0,
            messageID: "",
            headers: [],
            body: Array(text.utf8),
            plaintext: nil,
            collapseKey: collapse
        )
    }

    private func device(_ number: Int) -> EmulatedDevice { EmulatedDevice(service: .fcm, id: "\(number)") }

    @Test func aDeviceKeepsItsLatestDeliveries() {
        var inbox = Inbox(limits: .init(deliveriesPerDevice: 3))
        for _ in 0..<10 { inbox.add(delivery(), for: device(1)) }
        #expect(inbox.deliveries(to: [device(1)]).map(\.sequence) == [8, 9, 10])
        #expect(inbox.count == 3)
    }

    @Test func allDevicesTogetherKeepTheLatestDeliveries() {
        var inbox = Inbox(limits: .init(deliveriesPerDevice: 3, deliveries: 5))
        for number in 0..<1_000 { inbox.add(delivery(), for: device(number % 7)) }
        let all = inbox.deliveries(to: (0..<7).map(device))
        #expect(all.map(\.sequence) == [996, 997, 998, 999, 1_000])
        #expect(inbox.count == 5)
    }

    @Test func oneBusyDeviceDoesNotPushOutAnother() {
        var inbox = Inbox(limits: .init(deliveriesPerDevice: 3, deliveries: 5))
        inbox.add(delivery(), for: device(1))
        for _ in 0..<1_000 { inbox.add(delivery(), for: device(2)) }
        #expect(inbox.deliveries(to: [device(1)]).count == 1)
        #expect(inbox.deliveries(to: [device(2)]).map(\.sequence) == [999, 1_000, 1_001])
    }

    @Test func bytesAreBounded() {
        var inbox = Inbox(limits: .init(bytes: 1_000))
        for number in 0..<50 { inbox.add(delivery(String(repeating: "x", count: 99)), for: device(number)) }
        #expect(inbox.count == 10)
        inbox.add(delivery(String(repeating: "x", count: 1_001)), for: device(1))
        #expect(inbox.count == 0)
        inbox.add(delivery(), for: device(1))
        #expect(inbox.count == 1)
    }

    @Test func aLaterMessageWithTheSameKeyReplacesEarlierOnes() {
        var inbox = Inbox()
        for key in ["a", nil, "b", "a", "a"] { inbox.add(delivery(collapse: key), for: device(1)) }
        inbox.add(delivery(collapse: "b"), for: device(2))
        #expect(inbox.deliveries(to: [device(1)]).map(\.isReplaced) == [true, false, false, true, false])
    }

    @Test func eachServicesOwnKeyReplaces() async throws {
        try await Emulation.run { emulation async throws in
            for _ in 0..<2 {
                #expect(try await emulation.sendApns("aa", [("apns-collapse-id", "c")]).status == 200)
                let message = "{\"message\":{\"token\":\"bb\",\"android\":{\"collapse_key\":\"c\"}}}"
                #expect(try await emulation.sendFcm(message).status == 200)
                let wns = [("x-wns-type", "wns/badge"), ("content-type", "text/xml"), ("x-wns-tag", "c")]
                #expect(try await emulation.sendWns("cc", wns).status == 200)
                let endpoint = emulation.emulator.origin + "/push/dd"
                #expect(try await emulation.sendWebPush(endpoint, replacing: [("topic", "c")]).status == 201)
            }
            for handle in ["aa", "bb", "cc", "dd"] {
                #expect(emulation.emulator.inbox(of: handle).map(\.isReplaced) == [true, false], "\(handle)")
            }
        }
    }

    @Test func aDeviceIsFoundUnderEverySpellingOfItsHandle() async throws {
        try await Emulation.run { emulation async throws in
            #expect(try await emulation.sendApns("AABB").status == 200)
            #expect(try await emulation.sendWns("aabb").status == 200)
            #expect(emulation.emulator.inbox(of: "aabb").map(\.service) == [.apns, .wns])
            #expect(emulation.emulator.inbox(of: "AABB").map(\.service) == [.apns])
            #expect(emulation.emulator.inbox(of: "https://localhost:1/wns/aabb?x").map(\.service) == [.wns])
            #expect(emulation.emulator.inbox(of: "https://localhost:1/push/aabb").isEmpty)
            #expect(emulation.emulator.inbox(of: "https://").isEmpty)
            emulation.emulator.clearInbox()
            #expect(emulation.emulator.inbox(of: "aabb").isEmpty)
        }
    }

    @Test func headersAreShownInTheirOrderWithoutSecrets() async throws {
        try await Emulation.run { emulation in
            let id = "123e4567-e89b-12d3-a456-42665544000a"
            #expect(try await emulation.sendApns("aa", [("apns-id", id)]).status == 200)
            let headers = try #require(emulation.emulator.inbox(of: "aa").first?.headers)
            let own = headers.map(\.name).filter { $0 == "authorization" || $0.hasPrefix("apns-") }
            #expect(own == ["authorization", "apns-topic", "apns-push-type", "apns-priority", "apns-id"])
            #expect(!headers.contains { $0.name == "transfer-encoding" })
            let proof = try #require(headers.first { $0.name == "authorization" }?.value)
            #expect(proof.hasPrefix("bearer ey") && proof.hasSuffix(".…"))
            #expect(proof.split(separator: ".").count == 3)

            #expect(try await emulation.sendFcm("{\"message\":{\"token\":\"bb\"}}").status == 200)
            let bearer = emulation.emulator.inbox(of: "bb").first?.headers.first { $0.name == "authorization" }
            #expect(bearer?.value == "Bearer …")

            #expect(try await emulation.sendWebPush(emulation.emulator.origin + "/push/cc").status == 201)
            let vapid = emulation.emulator.inbox(of: "cc").first?.headers.first { $0.name == "authorization" }?.value
            #expect(vapid?.contains(".…, k=B") == true)
        }
    }

    @Test func theDocumentOfAnInboxHoldsEverything() async throws {
        try await Emulation.run { emulation in
            emulation.clock.now = Timestamp(milliseconds: emulation.clock.now.seconds * 1_000 + 7)
            let channel = emulation.emulator.makeBrowserSubscription()
            let body = try SenderEncryption.body("hello", to: channel)
            #expect(try await emulation.sendWebPush(channel.endpoint, replacing: [("topic", "t")], body).status == 201)
            let deliveries = emulation.emulator.inbox(of: channel.endpoint)
            let document = InboxDocument(handle: channel.endpoint, deliveries: deliveries)
            let again = try InboxDocument.decode(try document.encoded())
            #expect(again == document)
            let shown = try #require(again.deliveries.first)
            #expect(shown.plaintext == "hello")
            #expect(shown.body == nil)
            #expect(shown.bodyBase64 == Data(body).base64EncodedString())
            #expect(shown.collapseKey == "t")
            #expect(shown.service == "webPush")
            #expect(shown.receivedAt.hasSuffix(".007Z"))
            #expect(!shown.isReplaced)
        }
    }
}
