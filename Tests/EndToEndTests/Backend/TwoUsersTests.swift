import Foundation
import HubProtocol
import PushEmulator
import Testing

/// Two users with devices of several platforms, the programs as they were built, and the emulated push services.
@Suite struct TwoUsersTests {
    private struct Device {
        let platform: String
        let handle: String
        /// The handle as a registration has it.
        let json: String
    }

    /// A device of each platform.
    private func devices(of user: String, _ calls: BackendCalls) async throws -> [Device] {
        let token = user.utf8.map { String(format: "%02x", $0) }.joined()
        let subscription = try await calls.sendToHub("POST", "/news/emulator/subscription")
        try #require(subscription.status == 200, "\(subscription.text)")
        let endpoint = try JSONDecoder().decode([String: String].self, from: Data(subscription.text.utf8))["endpoint"]
        let channel = "https://127.0.0.1/wns/\(user)"
        return [
            Device(platform: "apns", handle: token, json: "\"\(token)\""),
            Device(platform: "fcmv1", handle: "phone-of-\(user)", json: "\"phone-of-\(user)\""),
            Device(platform: "wns", handle: channel, json: "\"\(channel)\""),
            Device(platform: "browser", handle: try #require(endpoint), json: subscription.text),
        ]
    }

    private func deliveries(_ device: Device, _ calls: BackendCalls) async throws -> [InboxDocument.Delivery] {
        try InboxDocument.decode(Array(try await calls.inbox(device.handle).utf8)).deliveries
    }

    /// Waits until each device has had so many messages.
    private func wait(_ devices: [Device], for count: Int, _ stage: BackendStage) async throws {
        for device in devices {
            try await stage.wait("\(device.platform) does not get \(count) messages") {
                try await deliveries(device, stage.calls).count >= count
            }
        }
    }

    private func notify(_ user: String, _ text: String, as sender: String, _ calls: BackendCalls) async throws {
        let target = "/api/notifications?pns=all&to_tag=\(user)"
        let answer = try await calls.send("POST", target, as: sender, "\"\(text)\"")
        #expect(answer.status == 200 && answer.text.isEmpty, "\(answer.text)")
    }

    // MARK: - Who gets what

    @Test(.timeLimit(.minutes(10)), arguments: [false, true])
    func `only the addressee's devices get it, and a secure text is nowhere but at the addressee`(
        isMounted: Bool
    ) async throws {
        try await BackendStage.run(
            users: ["desk", "alice", "bob"],
            isMounted: isMounted,
            hubOptions: ["--emulate"],
            logLevel: "trace"
        ) { stage in
            let calls = stage.calls
            let (desk, alice, bob) = (
                try await calls.logIn("desk"), try await calls.logIn("alice"), try await calls.logIn("bob")
            )
            let (alices, bobs) = (try await devices(of: "alice", calls), try await devices(of: "bob", calls))
            for device in alices { _ = try await calls.register(device.platform, device.json, as: alice) }
            for device in bobs { _ = try await calls.register(device.platform, device.json, as: bob) }

            try await notify("bob", "for Bob", as: desk, calls)
            try await wait(bobs, for: 1, stage)
            try await notify("alice", "for Alice", as: desk, calls)
            try await wait(alices, for: 1, stage)
            for device in alices {
                let all = try await deliveries(device, calls)
                #expect(all.count == 1 && all[0].text.contains("From desk: for Alice"), "\(device.platform): \(all)")
            }
            for device in bobs {
                let all = try await deliveries(device, calls)
                #expect(all.count == 1 && all[0].text.contains("From desk: for Bob"), "\(device.platform): \(all)")
            }

            let needle = "needle-\(UUID().uuidString)"
            let secure = try await calls.send(
                "POST",
                "/api/notifications",
                as: desk,
                #"{"to":"bob","payload":"\#(needle)"}"#
            )
            #expect(secure.status == 200 && secure.text.isEmpty, "\(secure.text)")
            try await wait(bobs, for: 2, stage)
            try await checkSecrecy(of: needle, stage, alices + bobs)
            let id = try #require(try await deliveries(bobs[0], calls)[1].text.firstMatch(of: /"secureId":"([0-9]+)"/))
            let path = "/api/notifications/\(id.output.1)"
            #expect(try await calls.send("GET", path, as: alice).status == 404)
            #expect(try await calls.send("GET", path, as: desk).status == 404, "not even its sender")
            let fetched = try await calls.send("GET", path, as: bob)
            #expect(fetched.text == #"{"Id":\#(id.output.1),"Payload":"\#(needle)","Read":false}"#)
            for device in alices { #expect(try await deliveries(device, calls).count == 1, "\(device.platform)") }
            try await checkSecrecy(of: needle, stage, alices + bobs)
        }
    }

    /// Looks for a text in all that push services were sent, that was logged and counted, and that is stored or copied.
    private func checkSecrecy(of needle: String, _ stage: BackendStage, _ devices: [Device]) async throws {
        let encoded = Data(needle.utf8).base64EncodedString()
        func check(_ text: String, _ what: String) {
            #expect(!text.contains(needle) && !text.contains(encoded), "\(what)")
        }
        for device in devices { check(try await stage.calls.inbox(device.handle), device.platform) }
        check(stage.logs, "a log")
        #expect(stage.logs.contains("is ready"), "the logs were read")
        let metrics = try await stage.calls.sendToHub("GET", "/metrics")
        #expect(metrics.status == 200)
        check(metrics.text, "a metric of the hub")
        let ownMetrics = try await stage.calls.send("GET", "/metrics", as: nil)
        #expect(ownMetrics.status == 200 && ownMetrics.text.contains("newswire_backend_payloads"))
        check(ownMetrics.text, "a metric of the back end")
        for list in [["user", "list"], ["user", "audit"], ["user", "devices", "bob"], ["user", "tokens", "bob"]] {
            let outcome = try await BuiltProgram.run(list + ["--state", stage.state])
            #expect(outcome.status == 0, "\(outcome.errors)")
            check(outcome.output + outcome.errors, "\(list)")
        }
        let copy = stage.scratch.file("copy-\(UUID().uuidString)")
        let backup = try await BuiltProgram.run(["hub", "backup", "--state", stage.state, copy])
        #expect(backup.status == 0, "\(backup.errors)")
        let files = try FileManager.default.subpathsOfDirectory(atPath: stage.scratch.path)
            .map { stage.scratch.file($0) }
        #expect(files.contains { $0.hasSuffix("backend.sqlite-wal") } && files.contains { $0.hasPrefix(copy) })
        for file in files {
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
            let bytes = try Data(contentsOf: URL(filePath: file))
            #expect(bytes.range(of: Data(needle.utf8)) == nil && bytes.range(of: Data(encoded.utf8)) == nil, "\(file)")
        }
    }

    // MARK: - Changing hands

    @Test(.timeLimit(.minutes(10)))
    func `a device that changes hands while messages wait gets none of the former user's`() async throws {
        try await BackendStage.run(users: ["desk", "alice", "bob"], hubOptions: ["--emulate"]) { stage in
            let calls = stage.calls
            let (desk, alice, bob) = (
                try await calls.logIn("desk"), try await calls.logIn("alice"), try await calls.logIn("bob")
            )
            // The emulated service is unavailable for its first two messages: docs/push-emulator.md.
            let (failing, waiting) = ("fa17050302aa", "00aa")
            let first = try await calls.register("apns", "\"\(failing)\"", as: alice)
            try await notify("alice", "for Alice", as: desk, calls)
            let second = try await calls.register("apns", "\"\(waiting)\"", as: alice)
            let scheduled = try await calls.sendToHub(
                "POST",
                "/news/schedulednotifications",
                headers: [
                    (HeaderName.format, "apple"), (HeaderName.tags, "username:alice"),
                    (HeaderName.scheduleTime, ISODateTime.format(Date(timeIntervalSinceNow: 4))),
                ],
                #"{"aps":{"alert":"later for Alice"}}"#
            )
            #expect(scheduled.status == 201, "\(scheduled.text)")
            try await calls.register("apns", "\"\(failing)\"", id: first, as: bob)
            try await calls.register("apns", "\"\(waiting)\"", id: second, as: bob)
            try await notify("bob", "for Bob", as: desk, calls)
            // On a busy machine the hub may have repeated Alice's while the device was still hers.
            let handover = ISODateTime.formatMilliseconds(Date())
            try await stage.wait("messages do not come to an end") {
                try await calls.messages().allSatisfy { message in
                    ![.enqueued, .processing, .scheduled].contains(message.state)
                }
            }
            let states = try await calls.messages().map(\.state)
            #expect(states.count >= 3, "\(states)")
            for handle in [failing, waiting] {
                let device = Device(platform: "apns", handle: handle, json: "")
                let all = try await deliveries(device, calls)
                let ofBob = all.filter { $0.text == #"{"aps":{"alert":"From desk: for Bob"}}"# }
                #expect(ofBob.count == 1, "\(handle): \(all)")
                let others = all.filter { $0.receivedAt > handover }.map(\.text).filter { $0 != ofBob.first?.text }
                #expect(others == [], "\(handle)")
            }
        }
    }
}

extension InboxDocument.Delivery {
    /// What the device reads.
    fileprivate var text: String { plaintext ?? body ?? "" }
}
