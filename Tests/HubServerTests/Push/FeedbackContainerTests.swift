import Foundation
import HubProtocol
import HubRouting
import HubStore
import PushServices
import Testing

@testable import HubServer

/// The files of the feedback container, as a client reads them that was given its address (protocol document §5.7).
struct FeedbackContainerTests {
    /// A container, by the address that the hub gives.
    private struct Container {
        let hub: TestHub
        let path, token: String

        init(_ hub: TestHub) async throws {
            self.hub = hub
            let address = try await hub.send("GET", "feedbackcontainer?api-version=2020-06", as: hub.full).body
            let parts = address.dropFirst("https://h".count).split(separator: "?", maxSplits: 1)
            (path, token) = (String(parts[0]), String(parts[1]))
        }

        /// Names, lengths and dates of the files.
        func files() async throws -> [(name: String, length: Int, modified: String)] {
            let list = try await hub.send("GET", "\(path)?restype=container&comp=list&\(token)", as: nil)
            try #require(list.status == 200, "\(list.body)")
            let file =
                /<Blob><Name>(.*?)<\/Name><Properties><Last-Modified>(.*?)<\/Last-Modified><Content-Length>(\d+)</
            return list.body.matches(of: file).map { (String($0.1), Int($0.3) ?? -1, String($0.2)) }
        }

        func file(_ name: String) async throws -> Reply {
            try await hub.send("GET", "\(path)/\(name)?\(token)", as: nil)
        }
    }

    @Test func `dead handles are rows of the day's file, other failures are not`() async throws {
        let service = ScriptedPushService { sent in
            switch sent.target.channel.handle {
            case "AA01": .badRoute("DeviceTokenNotForTopic")
            case "AA02": .deadHandle(DeadHandle(isCertain: false, reason: "BadDeviceToken"))
            default: .deadHandle(DeadHandle(reason: "Unregistered"))
            }
        }
        let clock = TestClock()
        try await ScriptedHub.run(service, clock: clock) { hub in
            for number in 1...3 { try await hub.register("\(number)-1-1", .apns, .handle("AA0\(number)")) }
            let container = try await Container(hub)
            #expect(try await container.files().isEmpty)
            let first = try await hub.send(format: "apple", "{}", tags: "World")
            await hub.settlePushes()
            clock.advance(by: 7 * 3_600)
            try await hub.install("phone", handle: "AA04", tags: ["World"])
            let second = try await hub.send(format: "apple", "{}", tags: "$InstallationId:{phone}")
            await hub.settlePushes()
            // What is marked is not reported again.
            _ = try await hub.send(format: "apple", "{}", tags: "$InstallationId:{phone}")
            await hub.settlePushes()

            let files = try await container.files()
            #expect(files.map(\.name) == ["03172030", "03182030"])
            #expect(files.map(\.modified) == ["Sun, 17 Mar 2030 17:46:40 GMT", "Mon, 18 Mar 2030 00:46:40 GMT"])
            let replies = [try await container.file("03172030"), try await container.file("03182030")]
            #expect(replies.map(\.status) == [200, 200])
            #expect(replies.map(\.body.utf8.count) == files.map(\.length))
            #expect(replies.allSatisfy { $0.headers["content-type"] == "application/octet-stream" })
            let head =
                #"<PnsFeedback xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance">"#
            #expect(
                replies[0].body == head
                    + "<FeedbackTime>2030-03-17T17:46:40Z</FeedbackTime><NotificationSystemError>ExpiredChannel</NotificationSystemError>"
                    + "<Platform>apple</Platform><PnsHandle>AA03</PnsHandle><RegistrationId>3-1-1</RegistrationId>"
                    + "<NotificationId>\(first)</NotificationId></PnsFeedback>\n"
            )
            #expect(replies[1].body.split(separator: "\n").count == 1)
            #expect(replies[1].body.contains("<PnsHandle>AA04</PnsHandle>"))
            #expect(
                replies[1].body.contains(
                    "<InstallationId>phone</InstallationId><NotificationId>\(second)</NotificationId>"
                )
            )
        }
    }

    @Test func `a handle that was registered again is not listed`() async throws {
        let service = ScriptedPushService { _ in .deadHandle(DeadHandle(reason: "Unregistered")) }
        try await ScriptedHub.run(service) { hub in
            for number in 1...2 { try await hub.register("\(number)-1-1", .apns, .handle("AA0\(number)")) }
            let container = try await Container(hub)
            _ = try await hub.send(format: "apple", "{}", tags: "World")
            await hub.settlePushes()
            try await hub.register("3-1-1", .apns, .handle("AA01"))
            let body = try await container.file("03172030").body
            #expect(body.contains("<PnsHandle>AA02</PnsHandle>") && !body.contains("AA01"))
        }
    }

    /// As JSON tells of a container.
    private struct Listed: Decodable {
        struct File: Decodable {
            let name, url: String
            let contentLength: Int
        }

        let containerName: String
        let files: [File]
    }

    @Test func `JSON and Atom are answered to those who ask for them`() async throws {
        let service = ScriptedPushService { _ in .deadHandle(DeadHandle(reason: "Unregistered")) }
        try await ScriptedHub.run(service) { hub in
            try await hub.register("1-1-1", .apns, .handle("AA01"))
            _ = try await hub.send(format: "apple", "{}", tags: "World")
            await hub.settlePushes()
            func get(_ path: String, as rule: AccessRule? = nil, _ type: String) async throws -> Reply {
                try await hub.send("GET", path, as: rule, headers: ["Accept": type])
            }
            let json = try await get("feedbackcontainer", as: hub.full, "application/json")
            #expect(json.headers["content-type"] == "application/json; charset=utf-8")
            let address = try JSONDecoder().decode([String: String].self, from: Data(json.body.utf8))
            let path = String(try #require(address["url"]).dropFirst("https://h".count))
            let listed = try JSONDecoder()
                .decode(Listed.self, from: Data(try await get(path, "application/json").body.utf8))
            #expect(listed.containerName == "news" && listed.files.map(\.name) == ["03172030"])
            let file = try #require(listed.files.first)
            let rows = try await hub.send("GET", String(file.url.dropFirst("https://h".count)), as: nil)
            #expect(rows.status == 200 && rows.body.utf8.count == file.contentLength)

            let entry = try await get("feedbackcontainer", as: hub.full, "application/atom+xml")
            #expect(entry.headers["content-type"] == "application/atom+xml; type=entry; charset=utf-8")
            #expect(
                entry.body.hasPrefix(#"<entry xmlns="http://www.w3.org/2005/Atom"><id>https://h/news/feedback</id>"#)
            )
            let feed = try await get(path, "application/atom+xml")
            #expect(feed.headers["content-type"] == "application/atom+xml; type=feed; charset=utf-8")
            #expect(feed.body.contains("<title>03172030</title>"), "\(feed.body)")
            #expect(try await get("feedbackcontainer", as: hub.full, "*/*").body.hasPrefix("https://h/news/feedback?"))
            #expect(try await get(path, "*/*").body.hasPrefix("<?xml"))
        }
    }

    @Test func `names of other files are not found, and the files need the container's address`() async throws {
        let service = ScriptedPushService { _ in .deadHandle(DeadHandle(reason: "Unregistered")) }
        try await ScriptedHub.run(service) { hub in
            try await hub.register("1-1-1", .apns, .handle("AA01"))
            _ = try await hub.send(format: "apple", "{}", tags: "World")
            await hub.settlePushes()
            let container = try await Container(hub)
            #expect(try await container.file("03172030").status == 200)
            let others = [
                "03162030", "03172030-1", "03172030-2", "03172030-999999999999999999", "3172030", "03172030-", "..",
                "x",
            ]
            for name in others { #expect(try await container.file(name).status != 200, "\(name)") }
            #expect(try await container.file("03172030-2").status == 404)
            #expect(try await hub.send("GET", "feedback/03172030", as: nil).status == 401)
            #expect(try await hub.send("GET", "feedback/03172030", as: hub.listen).status == 401)
            #expect(try await hub.send("GET", "feedback/03172030", as: hub.full).status == 200)
        }
    }

    @Test func `a day with many rows has several files`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let id = try await hub.send(format: "apple", "{}")
            let message = try #require(
                try await hub.hub.store.message(hub: hub.hub.record.id, id: id, through: hub.head)
            )
            let (key, sequence, at) = (hub.hub.record.id, message.logged.sequence, hub.hub.configuration.timestamp)
            let count = FeedbackLookup.rowsOfFile + 5
            try await hub.hub.perform { transaction, _ in
                let delivery = DeliveryKey(sequence: sequence, platform: .apns)
                let ordinals = (1...count).map { Ordinal(rawValue: Int64($0)) }
                try transaction.insertDelivery(delivery, hub: key, targets: OrdinalSet(ordinals))
                var progress = DeliveryProgress()
                for ordinal in ordinals {
                    progress.done[ordinal] = .expiredChannel
                    progress.failures.append(
                        DeliveryFailure(
                            ordinal: ordinal,
                            outcome: .expiredChannel,
                            reason: "410",
                            deadHandle: "h\(ordinal)"
                        )
                    )
                }
                try transaction.record(progress, of: delivery, hub: key, at: at)
                return ((), [])
            }
            let container = try await Container(hub)
            let files = try await container.files()
            #expect(files.map(\.name) == ["03172030", "03172030-2"])
            var handles: Set<Substring> = []
            for file in files {
                let body = try await container.file(file.name).body
                #expect(body.utf8.count == file.length)
                handles.formUnion(body.matches(of: /<PnsHandle>(.*?)<\/PnsHandle>/).map(\.1))
            }
            #expect(handles.count == count)
        }
    }
}
