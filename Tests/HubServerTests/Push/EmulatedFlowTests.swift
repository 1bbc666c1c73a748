import Foundation
import HubProtocol
import PushEmulator
import Testing

@testable import HubServer

/// What a back end and its devices do, from the registration to the device's inbox, on each platform.
struct EmulatedFlowTests {
    /// Devices of one platform: `native` and `template` are registrations, `installation` is both.
    private struct Devices {
        let native, template, installation: PushChannel
    }

    private func register(
        _ platform: EmulatedPlatform,
        _ hub: TestHub,
        _ emulator: PushEmulator
    ) async throws -> Devices {
        let devices = Devices(
            native: platform.channel("native", emulator),
            template: platform.channel("template", emulator),
            installation: platform.channel("installation", emulator)
        )
        let template = platform.template
        try await hub.register("1-1-1", platform.platform, devices.native)
        try await hub.register(
            "2-2-2",
            platform.platform,
            devices.template,
            template: RegistrationTemplate(name: "t", body: template.body, headers: template.headers)
        )
        let installation = Installation(
            id: try InstallationID("i"),
            platform: platform.platform,
            pushChannel: devices.installation,
            tags: [try Tag("World")],
            templates: ["t": template]
        )
        let json = installation.encodedJSON(as: .request)
        let reply = try await hub.send("PUT", "installations/i", as: hub.listen, json)
        try #require(reply.status == 200, "\(reply.body)")
        return devices
    }

    @Test(arguments: EmulatedPlatform.allCases)
    func `a send by tag, native or with templates, is in the inboxes of those it is for`(
        _ platform: EmulatedPlatform
    ) async throws {
        try await EmulatedHub.run { hub, emulator in
            let devices = try await register(platform, hub, emulator)
            let native = try await hub.send(format: platform.rawValue, platform.body, tags: "World && !Sports")
            await hub.settlePushes()
            let details = try await hub.details(native)
            #expect(details.state == .completed && details.outcomes == [platform.platform: [.success: 2]])
            #expect(details.targetPlatforms == [platform.rawValue])
            for channel in [devices.native, devices.installation] {
                try check(emulator.inbox(of: channel.handle), platform, channel, hub)
            }
            #expect(emulator.inbox(of: devices.template.handle).isEmpty)

            let template = try await hub.send(format: "template", #"{"title":"Flood"}"#, tags: "World")
            await hub.settlePushes()
            #expect(try await hub.outcomes(template) == [platform.platform: [.success: 2]])
            #expect(try await hub.details(template).targetPlatforms == ["\(platform.rawValue)template"])
            try check(emulator.inbox(of: devices.template.handle), platform, devices.template, hub)
            #expect(emulator.inbox(of: devices.installation.handle).count == 2)
            #expect(emulator.inbox(of: devices.native.handle).count == 1)

            let nobody = try await hub.send(format: platform.rawValue, platform.body, tags: "Sports")
            await hub.settlePushes()
            #expect(try await hub.details(nobody).state == .noTargetFound)
        }
    }

    /// One delivery, with the body and the headers that the platform wants, and no others that a message chooses.
    private func check(
        _ inbox: [EmulatedDelivery],
        _ platform: EmulatedPlatform,
        _ channel: PushChannel,
        _ hub: TestHub
    ) throws {
        #expect(inbox.count == 1)
        let delivery = try #require(inbox.first)
        #expect(delivery.message == platform.delivered(to: channel))
        let expected = platform.headers(acceptedAt: hub.clock.now)
        var values = delivery.headerValues
        for (name, value) in expected { #expect(values[name] == value, "\(name)") }
        switch platform {
        case .apple:
            #expect(values.removeValue(forKey: "apns-id") == delivery.messageID)
        case .browser: #expect(values["topic"]?.utf8.count == 22, "16 bytes in base64url")
        default: break
        }
        let own = values.keys.filter { name in platform.ownHeaders.contains { name.hasPrefix($0) } }
        #expect(Set(own).isSubset(of: expected.keys), "\(own)")
    }

    @Test(arguments: EmulatedPlatform.allCases)
    func `a direct send, a batch and a test send reach their devices`(_ platform: EmulatedPlatform) async throws {
        try await EmulatedHub.run { hub, emulator in
            let devices = try await register(platform, hub, emulator)
            let unregistered = platform.channel("stranger", emulator)
            var headers = [HeaderName.format: platform.rawValue, HeaderName.deviceHandle: unregistered.handle]
            if case .browser(let browser) = unregistered {
                (headers["P256DH"], headers["Auth"]) = (browser.p256dh, browser.auth)
            }
            let direct = try await hub.send("POST", "messages/?direct", as: hub.full, headers: headers, platform.body)
            await hub.settlePushes()
            #expect(try await hub.outcomes(direct.messageID) == [platform.platform: [.success: 1]])
            try check(emulator.inbox(of: unregistered.handle), platform, unregistered, hub)

            let handles = try [devices.native, devices.template, devices.native].map { channel in
                String(decoding: try JSONEncoder().encode(channel), as: UTF8.self)
            }
            let disposition = "Content-Disposition: inline; name="
            let batch =
                "--b\r\n\(disposition)notification\r\n\r\n\(platform.body)\r\n"
                + "--b\r\n\(disposition)devices\r\n\r\n[\(handles.joined(separator: ","))]\r\n--b--"
            let reply = try await hub.send(
                "POST",
                "messages/$batch?direct",
                as: hub.full,
                headers: [HeaderName.format: platform.rawValue, "Content-Type": "multipart/mixed; boundary=b"],
                batch
            )
            await hub.settlePushes()
            #expect(try await hub.outcomes(reply.messageID) == [platform.platform: [.success: 2, .skipped: 1]])
            try check(emulator.inbox(of: devices.native.handle), platform, devices.native, hub)
            try check(emulator.inbox(of: devices.template.handle), platform, devices.template, hub)

            let test = try await hub.test(platform.rawValue, platform.body)
            #expect(test.success == 2 && test.failure == 0)
            #expect(test.results.allSatisfy { $0.outcome == RegistrationResult.success })
            #expect(test.results.allSatisfy { $0.applicationPlatform == platform.rawValue })
            try check(emulator.inbox(of: devices.installation.handle), platform, devices.installation, hub)
        }
    }

    // MARK: - Faults

    struct Fault: Sendable, CustomTestStringConvertible {
        let name: String
        /// `nil` while the message waits until the service accepts the credential.
        let outcome: OutcomeName?
        var isRemoved = false
        var isTriedAgain = false
        let platforms: [EmulatedPlatform]

        var testDescription: String { "\(name): \(platforms.map(\.rawValue).joined(separator: ", "))" }

        static let all = [
            Fault(name: "dead", outcome: .expiredChannel, isRemoved: true, platforms: EmulatedPlatform.allCases),
            // A wrong environment or project gives the same answer, so that nothing is removed.
            Fault(name: "malformed", outcome: .badChannel, platforms: [.apple, .fcmv1, .gcm]),
            Fault(name: "malformed", outcome: .expiredChannel, isRemoved: true, platforms: [.windows, .browser]),
            Fault(name: "throttled-1", outcome: .success, isTriedAgain: true, platforms: EmulatedPlatform.allCases),
            Fault(name: "unavailable-1", outcome: .success, isTriedAgain: true, platforms: EmulatedPlatform.allCases),
            Fault(name: "wrongtopic", outcome: .wrongToken, platforms: EmulatedPlatform.allCases),
            Fault(name: "dropped", outcome: .dropped, platforms: [.windows]),
            Fault(name: "dropped", outcome: .success, platforms: [.apple, .fcmv1, .gcm, .browser]),
            Fault(name: "badcredential", outcome: nil, platforms: EmulatedPlatform.allCases),
        ]
    }

    @Test(arguments: Fault.all)
    func `a fault has the outcome that telemetry names`(_ fault: Fault) async throws {
        for platform in fault.platforms {
            try await EmulatedHub.run { hub, emulator in
                let channel = platform.channel(fault.name, emulator)
                try await hub.register("1-1-1", platform.platform, channel)
                let id = try await hub.send(format: platform.rawValue, platform.body, tags: "World")
                await hub.settlePushes()
                if fault.isTriedAgain {
                    let details = try await hub.details(id)
                    #expect(details.state == .processing && details.outcomes.isEmpty, "\(platform)")
                    hub.clock.advance(by: 61)
                    await hub.settlePushes()
                }
                let details = try await hub.details(id)
                guard let outcome = fault.outcome else {
                    #expect(details.outcomes.isEmpty && details.state != .completed, "\(platform)")
                    // Of browsers' push services, only the one that refuses the credential is paused.
                    let isRefused = hub.hub.push.refusal(platform.platform) != nil
                    #expect(isRefused == (platform != .browser), "\(platform)")
                    return
                }
                #expect(details.outcomes == [platform.platform: [outcome: 1]], "\(platform)")
                #expect(details.state == .completed, "\(platform)")
                #expect(hub.hub.push.refusal(platform.platform) == nil, "\(platform)")
                #expect(emulator.inbox(of: channel.handle).count == (outcome == .success ? 1 : 0))
                #expect(try await hub.failures(id).map(\.outcome) == (outcome == .success ? [] : [outcome.rawValue]))
                let registration = try await hub.send("GET", "registrations/1-1-1", as: hub.full)
                #expect(registration.status == (fault.isRemoved ? 404 : 200), "\(platform)")
            }
        }
    }
}
