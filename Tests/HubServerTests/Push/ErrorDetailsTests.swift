import Foundation
import HubProtocol
import HubRouting
import HubStore
import PushServices
import Testing

@testable import HubServer

/// The file that `PnsErrorDetailsUri` in the telemetry of a message leads to (protocol document §5.6, §5.7).
struct ErrorDetailsTests {
    private static let space =
        #"xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance""#

    private static func line(_ error: String, _ rest: String) -> String {
        "<PnsFeedback \(space)><FeedbackTime>2030-03-17T17:46:40Z</FeedbackTime>"
            + "<NotificationSystemError>\(error)</NotificationSystemError><Platform>apple</Platform>\(rest)</PnsFeedback>"
    }

    /// What the address of a message's errors leads to, got without a header.
    private func errors(of id: MessageID, _ hub: TestHub) async throws -> Reply {
        let uri = try #require(try await hub.details(id).errorDetailsURI)
        try #require(uri.hasPrefix("https://h/news/messages/\(id)/errordetails?sr="), "\(uri)")
        return try await hub.send("GET", String(uri.dropFirst("https://h".count)), as: nil)
    }

    @Test func `each failed target has a line of its own, as the service writes them`() async throws {
        let service = ScriptedPushService { sent in
            switch sent.target.channel.handle {
            case "AA01": .accepted(id: nil)
            case "AA02": .badRoute("DeviceTokenNotForTopic")
            default: .deadHandle(DeadHandle(reason: "Unregistered"))
            }
        }
        try await ScriptedHub.run(service) { hub in
            for number in 1...3 { try await hub.register("\(number)-1-1", .apns, .handle("AA0\(number)")) }
            try await hub.install("phone", handle: "AA04", tags: ["World"])
            let id = try await hub.send(format: "apple", #"{"aps":{"alert":"x"}}"#, tags: "World")
            await hub.settlePushes()
            // The dead one is gone, and the phone has another handle by now.
            #expect(try await hub.send("GET", "registrations/3-1-1", as: hub.full).status == 404)
            try await hub.install("phone", handle: "AA05", tags: ["World"])
            let reply = try await errors(of: id, hub)
            #expect(reply.status == 200 && reply.headers["content-type"] == "application/octet-stream")
            let native = try #require(
                try await hub.hub.registrations.page(.all, from: nil, limit: 9).registrations
                    .first { $0.installation != nil && $0.registration.template == nil }
            )
            let notification = "<NotificationId>\(id)</NotificationId>"
            #expect(
                reply.body
                    == [
                        Self.line(
                            "WrongToken",
                            "<PnsHandle>AA02</PnsHandle><RegistrationId>2-1-1</RegistrationId>\(notification)"
                        ),
                        Self.line(
                            "ExpiredChannel",
                            "<PnsHandle>AA03</PnsHandle><RegistrationId>3-1-1</RegistrationId>\(notification)"
                        ),
                        Self.line(
                            "ExpiredChannel",
                            "<PnsHandle>AA04</PnsHandle><RegistrationId>\(native.registration.id)</RegistrationId>"
                                + "<InstallationId>phone</InstallationId>\(notification)"
                        ),
                    ].map { $0 + "\n" }.joined()
            )
            #expect(try await hub.failures(id).map(\.handle) == ["AA02", "AA03", "AA04"])
            #expect(try await hub.failures(id).map { $0.registration?.text }[1] == "3-1-1")
        }
    }

    @Test func `a message that reached everybody has no address, and one to a handle names the handle`() async throws {
        let service = ScriptedPushService()
        try await ScriptedHub.run(service) { hub in
            try await hub.register("1-1-1", .apns, .handle("AA01"))
            let good = try await hub.send(format: "apple", "{}", tags: "World")
            await hub.settlePushes()
            #expect(try await hub.details(good).outcomes == [.apns: [.success: 1]])
            #expect(try await hub.details(good).errorDetailsURI == nil)
            service.answer { _ in .deadHandle(DeadHandle(reason: "Unregistered")) }
            let direct = try await hub.send(format: "apple", "{}", device: "BB01")
            await hub.settlePushes()
            let reply = try await errors(of: direct, hub)
            let rest = "<PnsHandle>BB01</PnsHandle><NotificationId>\(direct)</NotificationId>"
            #expect(reply.body == Self.line("ExpiredChannel", rest) + "\n")
        }
    }

    @Test func `the address opens one message's errors for a day, with Send`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            try await hub.install("phone", handle: "AA01", tags: [])
            let (id, other) = (
                try await hub.send(format: "apple", "{}"), try await hub.send(format: "apple", "{}")
            )
            let uri = try #require(try await hub.details(id).errorDetailsURI)
            let path = String(uri.dropFirst("https://h".count))
            let elsewhere = path.replacing("/messages/\(id)/", with: "/messages/\(other)/")
            #expect(try await hub.send("GET", elsewhere, as: nil).status == 401)
            let telemetry = path.replacing("/errordetails", with: "")
            #expect(try await hub.send("GET", telemetry, as: nil).status == 401, "nothing else takes it")
            #expect(try await hub.send("GET", "messages/\(id)/errordetails", as: nil).status == 401)
            #expect(try await hub.send("GET", "messages/\(id)/errordetails", as: hub.listen).status == 401)
            #expect(try await hub.send("GET", "messages/none/errordetails", as: hub.full).status == 404)
            clock.advance(by: Double(HubRequest.addressLifetime) - 1)
            #expect(try await hub.send("GET", path, as: nil).status == 200)
            clock.advance(by: 62)
            #expect(try await hub.send("GET", path, as: nil).error?.detail.hasPrefix("ExpiredToken") == true)
        }
    }

    @Test func `many failures come in pages, and none twice`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let id = try await hub.send(format: "apple", "{}")
            let message = try #require(
                try await hub.hub.store.message(hub: hub.hub.record.id, id: id, through: hub.head)
            )
            let (key, sequence, at) = (
                hub.hub.record.id, message.logged.sequence, hub.hub.configuration.timestamp
            )
            try await hub.hub.perform { transaction, _ in
                for (platform, count) in [(.apns, 2_500), (.wns, 1_000)] as [(Platform, Int64)] {
                    let delivery = DeliveryKey(sequence: sequence, platform: platform)
                    let targets = OrdinalSet((1...count).map { Ordinal(rawValue: $0) })
                    try transaction.insertDelivery(delivery, hub: key, targets: targets)
                    var progress = DeliveryProgress()
                    for number in 1...count {
                        let ordinal = Ordinal(rawValue: number)
                        progress.done[ordinal] = .expiredChannel
                        progress.failures.append(
                            DeliveryFailure(
                                ordinal: ordinal,
                                outcome: .expiredChannel,
                                reason: "410",
                                deadHandle: "\(platform)-\(number)"
                            )
                        )
                    }
                    try transaction.record(progress, of: delivery, hub: key, at: at)
                }
                return ((), [])
            }
            let lines = try await errors(of: id, hub).body.split(separator: "\n")
            let handles = lines.compactMap { $0.firstMatch(of: /<PnsHandle>(.*)<\/PnsHandle>/)?.1 }
            #expect(lines.count == 3_500 && Set(handles).count == 3_500)
            #expect(handles.first == "apns-1" && handles.last == "wns-1000")
        }
    }
}
