import Foundation
import GRDB
import HTTPTypes
import HubClient
import HubProtocol
import HubTestServer
import Hummingbird
import OutboundHTTP
import SQLiteFiles
import ServerSentEvents
import Testing
import WebEdge

@testable import AppBackend
@testable import HubServer
@testable import MountedBackend

/// The app backend on a hub's port.
@Suite struct BackendMountTests {
    @Test func `a hub without users refuses with 401 below api, and is a hub everywhere else`() async throws {
        try await MountedHub.run(hasUsers: false) { mounted in
            for route in BackendRoutes.all where route.access != .monitor {
                let target = route.address.replacing(":id", with: "1")
                let body = route.method == .get ? nil : ""
                let reply = try await mounted.send(route.method.rawValue, target, as: "ann", body)
                #expect(reply.status == 401 && reply.headers["WWW-Authenticate"] != nil, "\(target): \(reply.body)")
            }
            #expect(!FileManager.default.fileExists(atPath: mounted.database))
            for (target, text) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
                let reply = try await mounted.send("GET", target)
                #expect(reply.status == 200 && reply.body == text)
            }
            for target in ["/api", "/apiary/x", "/nothing/register"] {
                let reply = try await mounted.send("GET", target)
                #expect(reply.status == 404 && reply.body.hasPrefix("<Error>"), "\(target): \(reply.body)")
            }
            #expect(try await mounted.hub.client.send(Array("{}".utf8), tags: nil, idempotencyKey: nil) != nil)
        }
    }

    @Test func `users who are added while the hub serves sign in at once`() async throws {
        try await MountedHub.run(hasUsers: false) { mounted in
            let early = try await mounted.send("POST", "/api/register", as: "ann")
            #expect(early.status == 401)
            try await TestBackend.addUsers(to: try BackendStore(path: mounted.database))
            let id = try await mounted.register("ann")
            let made = try #require(try await mounted.hub.registrations("username:ann").first)
            #expect(made.id.text == id && made.pushChannel == .handle("AA"))
            let upper = try await mounted.send("DELETE", "/API/Register/\(id)", as: "ann")
            #expect(upper.status == 200)
            #expect(try await mounted.hub.registrations().isEmpty)
        }
    }

    @Test func `a user is notified by name, and fetches a payload`() async throws {
        try await MountedHub.run { mounted in
            let secret = PushChannelSecret.random()
            let agent = Installation(
                id: try InstallationID("desk-agent"),
                platform: .stream,
                pushChannel: .handle(secret.text)
            )
            let json = agent.encodedJSON(as: .request)
            let put = try await mounted.send("PUT", "/api/installations/desk-agent", as: "ann", json)
            #expect(put.status == 200, "\(put.body)")
            let target = "/api/notifications?pns=stream&to_tag=ann"
            let sent = try await mounted.send("POST", target, as: "desk", #""hello""#)
            #expect(sent.status == 200 && sent.body.isEmpty, "\(sent.body)")
            let pushed = try await mounted.send("POST", "/api/notifications", as: "ann", #""the text""#)
            #expect(pushed.status == 200, "\(pushed.body)")
            let stream = try await mounted.hub.client.events(installation: agent.id, channel: secret, after: nil)
            var bodies: [String] = []
            while bodies.count < 2, let event = try await stream.next() {
                if let data = event.data { bodies.append(try StreamEvent(parsing: data).body) }
            }
            stream.cancel()
            #expect(bodies.first?.contains("From desk: hello") == true, "\(bodies)")
            let secureID = try #require(bodies.last.flatMap(SecurePushApp.secureID))
            let fetched = try await mounted.send("GET", "/api/notifications/\(secureID)", as: "ann")
            #expect(fetched.status == 200 && fetched.body.contains("the text"), "\(fetched.body)")
        }
    }

    @Test func `keys that are rotated and rules that are deleted do not break it`() async throws {
        try await MountedHub.run { mounted in
            _ = try await mounted.register("ann", handle: "AA")
            let service = mounted.hub.service
            let name = try HubName("news")
            let keys = try await HubKeys(databasePath: "\(mounted.folder)/hub.sqlite")
            for round in 1...2 {
                let rotated = try await keys.rotate(AccessRule.defaultFullName, of: .hub(name), at: 1)
                try await service.housekeeping.lookAtRules()
                // The hub takes them over in the order of its changes.
                await service.directory.all[0].hub.writer.passInOrder()
                #expect(service.primaryLocalHub.managingRule?.rule == rotated, "\(round)")
                _ = try await mounted.register("bob", handle: "B\(round)")
            }
            // The client's string has been rotated away; the namespace's key is the only one left.
            let root = try #require(service.directory.namespaceRules.first { $0.name == AccessRule.rootName })
            let entry = """
                <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\
                <NotificationHubDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">\
                <AuthorizationRules><AuthorizationRule><KeyName>\(AccessRule.defaultListenName)</KeyName>\
                <Rights><AccessRights>Listen</AccessRights></Rights></AuthorizationRule></AuthorizationRules>\
                </NotificationHubDescription></content></entry>
                """
            let token = SharedAccessToken.sign(
                resource: "http://localhost/news",
                keyName: root.name,
                key: root.primaryKey,
                expiresAt: Int64(Date().timeIntervalSince1970) + 3_600
            )
            let updated = try await mounted.send(
                "PUT",
                "/news",
                headers: [("Authorization", token), ("If-Match", "*"), ("Content-Type", "application/atom+xml")],
                entry
            )
            #expect(updated.status == 200, "\(updated.body)")
            #expect(service.primaryLocalHub.managingRule?.rule == root)
            _ = try await mounted.register("cat", handle: "CC")
        }
    }

    @Test func `no hub takes the name api`() async throws {
        try await MountedHub.run { mounted in
            let root = try #require(mounted.hub.service.directory.namespaceRules.first)
            let token = SharedAccessToken.sign(
                resource: "http://localhost/api",
                keyName: root.name,
                key: root.primaryKey,
                expiresAt: Int64(Date().timeIntervalSince1970) + 3_600
            )
            for name in ["api", "API"] {
                let reply = try await mounted.send("PUT", "/\(name)", headers: [("Authorization", token)], "")
                #expect(reply.status == 400 && reply.body.contains("reserved for the server itself"), "\(reply.body)")
            }
        }
    }

    @Test func `a database that cannot be used is reported, and the hub serves on`() async throws {
        let (scratch, log) = (try ScratchFolder(), LogLines())
        try Data("no database, and longer than the head of one would have to be".utf8)
            .write(to: URL(filePath: scratch.file("backend.sqlite")))
        try await MountedHub.run(in: scratch, hasUsers: false, logger: log.logger) { mounted in
            let reply = try await mounted.send("POST", "/api/login", as: "ann")
            #expect(reply.status == 503 && reply.headers["Retry-After"] != nil, "\(reply.body)")
            #expect(try await mounted.readiness { $0 != "ready\n" } == Self.unusable)
            #expect(try await mounted.hub.client.send(Array("{}".utf8), tags: nil, idempotencyKey: nil) != nil)
            #expect(log.all.filter { $0.contains("the app backend cannot use its files") }.count == 1, "\(log.all)")
            // An operator puts a good one in its place.
            try FileManager.default.removeItem(atPath: mounted.database)
            try await TestBackend.addUsers(to: try BackendStore(path: mounted.database))
            #expect(try await mounted.readiness { $0 == "ready\n" } == "ready\n")
            _ = try await mounted.register("ann")
        }
    }

    private static let unusable = "ready\napp backend: not ready: the database cannot be used\n"

    @Test func `a database that can no longer be read shows in the hub's readiness and metrics`() async throws {
        try await MountedHub.run { mounted in
            _ = try await mounted.register("ann")
            let store = try BackendStore(path: mounted.database)
            try await store.write { try $0.database.execute(sql: "ALTER TABLE account RENAME TO lost") }
            let text = try await mounted.readiness { $0 != "ready\n" }
            #expect(text.hasPrefix("ready\napp backend: not ready: the database cannot be read: "), "\(text)")
            try await store.write { try $0.database.execute(sql: "ALTER TABLE lost RENAME TO account") }
            #expect(try await mounted.readiness { $0 == "ready\n" } == "ready\n")
        }
    }

    @Test func `a mounted path is whole segments, in any case`() {
        let application = MountedApplication("test", below: "api", responder: Silent())
        #expect(["/api/", "/api/x", "/API/x", "/Api/x/y"].allSatisfy(application.serves))
        #expect(!["/", "", "/api", "/apix/y", "/x/api/", "api/x", "//api/x"].contains(where: application.serves))
    }
}

private struct Silent: HTTPResponder {
    func respond(to request: Request, context: WebContext<Caller>) async throws -> Response { Response(status: .ok) }
}

extension MountedHub {
    /// Asks for the hub's readiness until it is as expected; the last answer.
    func readiness(_ isExpected: (String) -> Bool) async throws -> String {
        var text = ""
        for _ in 1...10_000 {
            let reply = try await send("GET", "/readyz")
            guard reply.status == 200 else { return "\(reply.status) \(reply.body)" }
            text = reply.body
            if isExpected(text) { break }
        }
        return text
    }
}
