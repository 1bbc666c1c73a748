import Foundation
import GRDB
import HubClient
import HubProtocol
import HubRouting
import HubTestServer
import MountedBackend
import OutboundHTTP
import SQLiteFiles
import Signals
import Synchronization
import Testing
import WebEdge
import WebPages

@testable import AppBackend
@testable import HubServer
@testable import PageServer

/// Requests that change one session at the same moment, as those of several restored tabs do.
struct SessionChangeTests {
    private static let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"

    private static func subscription(_ number: Int = 1) -> String {
        let keys = #"{"p256dh":"\#(key)","auth":"BTBZMqHH6r4Tts7J_aSIgg"}"#
        return #"{"endpoint":"https://push.example/\#(number)","keys":\#(keys)}"#
    }

    private func signIn(_ hub: PagesHub, _ user: String, cookie: String? = nil) async throws -> String {
        let reply = try await hub.send("POST", "/-/news/sign-in", cookie: cookie, form: "user=\(user)&password=\(user)")
        try #require(reply.status == 303, "\(reply.body)")
        return String(try #require(reply.headers["Set-Cookie"]).prefix { $0 != ";" })
    }

    /// The ids of the installations that pages have registered.
    private func installations(_ hub: PagesHub) async throws -> [String] {
        var ids: [String] = []
        for kind in ReaderInstallation.allCases {
            let local = hub.service.primaryLocalHub
            let page = try await local.installations(prefix: kind.prefix, after: nil, limit: 100)
            ids += page.found.map(\.id.text)
        }
        return ids
    }

    /// Sends requests that all wait for the session's turn, and then lets them go on.
    private func atOnce(_ hub: PagesHub, _ requests: [@Sendable () async throws -> Reply]) async throws -> [Int] {
        let id = try #require(
            try await hub.store.read { try Int64.fetchOne($0.database, sql: "SELECT sessionID FROM session") }
        )
        // Until they know the node that writes, the others make changes themselves.
        try await hub.hearWriter()
        let turns = hub.pages.turns
        let (held, gate, progress) = (Gate(), Gate(), Signal())
        turns.onWait.withLock { $0 = { progress.notify() } }
        let holder = Task {
            try await turns.pass(id) {
                held.open()
                await gate.opened()
            }
        }
        await held.opened()
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for request in requests { group.addTask { try await request().status } }
            await progress.wait { turns.waitingCount(id) ?? 0 >= requests.count }
            gate.open()
            try await holder.value
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func `subscriptions of one session at once are one device, which a sign-out removes`() async throws {
        try await PagesHub.run(.public, users: ["alice"]) { hub in
            let cookie = try await signIn(hub, "alice")
            let statuses = try await atOnce(
                hub,
                (1...4).map { number in
                    { try await hub.send("PUT", "/-/news/push", cookie: cookie, form: Self.subscription(number)) }
                }
            )
            #expect(statuses == [204, 204, 204, 204])
            #expect(try await installations(hub).filter { $0.hasPrefix("browser-") }.count == 1)
            let left = try await hub.send("POST", "/-/news/leave", cookie: cookie)
            #expect(left.status == 303)
            #expect(try await installations(hub).isEmpty)
            let devices = try await hub.accounts().devices(of: try #require(UserName("alice")))
            #expect(devices.isEmpty)
        }
    }

    @Test func `after notifications are off, no device of a simultaneous subscription is left`() async throws {
        try await PagesHub.run(.public) { hub in
            let cookie = try await hub.reader(of: "World")
            _ = try await atOnce(
                hub,
                [
                    { try await hub.send("PUT", "/-/news/push", cookie: cookie, form: Self.subscription(1)) },
                    { try await hub.send("DELETE", "/-/news/push", cookie: cookie) },
                    { try await hub.send("PUT", "/-/news/push", cookie: cookie, form: Self.subscription(2)) },
                ]
            )
            let off = try await hub.send("DELETE", "/-/news/push", cookie: cookie)
            #expect(off.status == 204)
            #expect(try await !installations(hub).contains { $0.hasPrefix("browser-") })
        }
    }

    @Test func `a subscription that waits for a sign-out is not registered for the former user`() async throws {
        try await PagesHub.run(.public, users: ["alice"]) { hub in
            let reader = try await hub.reader(of: "World")
            let cookie = try await signIn(hub, "alice", cookie: reader)
            let statuses = try await atOnce(
                hub,
                [
                    { try await hub.send("PUT", "/-/news/push", cookie: cookie, form: Self.subscription()) },
                    { try await hub.send("POST", "/-/news/sign-out", cookie: cookie) },
                    { try await hub.send("POST", "/-/news/categories", cookie: cookie, form: "category=World") },
                ]
            )
            #expect(statuses.contains(303))
            let devices = try await hub.accounts().devices(of: try #require(UserName("alice")))
            #expect(devices.isEmpty)
            for id in try await installations(hub) {
                let stored = try await hub.client.installation(InstallationID(id), comparing: .handle(""))
                #expect(stored?.installation.tags.contains { $0.text.hasPrefix("username:") } == false)
            }
        }
    }

    @Test func `two choices at once leave the hub and the page with the same one`() async throws {
        try await PagesHub.run(.public) { hub in
            let cookie = try await hub.reader(of: "World")
            let statuses = try await atOnce(
                hub,
                ["World", "Sports", "World", "Sports"].map { name in
                    { try await hub.send("POST", "/-/news/categories", cookie: cookie, form: "category=\(name)") }
                }
            )
            #expect(statuses == [303, 303, 303, 303])
            let (id, choice) = try #require(try await hub.sessions().first)
            let stored = try await hub.client.installation(InstallationID(id), comparing: .handle(""))
            let registered = try #require(stored?.installation.tags.map(\.text).first)
            #expect(choice == #"["\#(registered)"]"#)
        }
    }

    @Test func `two users who sign in on one session at once are in sessions of their own`() async throws {
        try await PagesHub.run(.public, users: ["alice", "bob"]) { hub in
            let reader = try await hub.reader(of: "World")
            let statuses = try await atOnce(
                hub,
                ["alice", "bob"].map { user in
                    {
                        let form = "user=\(user)&password=\(user)"
                        return try await hub.send("POST", "/-/news/sign-in", cookie: reader, form: form)
                    }
                }
            )
            #expect(statuses == [303, 303])
            let users = try await hub.store.read { db in
                try Row.fetchAll(db.database, sql: "SELECT user, installation FROM session").map {
                    ($0["user"] as String?, $0["installation"] as String)
                }
            }
            #expect(Set(users.map(\.0)) == ["alice", "bob"])
            for (user, id) in users {
                let stored = try await hub.client.installation(InstallationID(id), comparing: .handle(""))
                let tags = stored?.installation.tags.map(\.text).filter { $0.hasPrefix("username:") }
                #expect(tags == [user.map { "username:\($0)" } ?? ""])
            }
        }
    }

    @Test func `devices whose sessions are gone are found and removed, also a former user's`() async throws {
        try await PagesHub.run(.public, users: ["alice"], nodes: 1) { hub in
            let (reader, other) = (try await hub.reader(of: "World"), try await signIn(hub, "alice"))
            for (number, cookie) in [reader, other].enumerated() {
                let body = Self.subscription(number)
                #expect(try await hub.send("PUT", "/-/news/push", cookie: cookie, form: body).status == 204)
            }
            let live = Set(try await installations(hub))
            #expect(live.count == 4)
            // As earlier versions have left them: one registered for a user, one not, one whose record lost its subscription.
            let alice = try #require(UserName("alice"))
            let backend = try #require(try await hub.pages.backend?.backend())
            let channel = BrowserPushChannel(
                endpoint: "https://push.example/9",
                p256dh: Self.key,
                auth: "BTBZMqHH6r4Tts7J_aSIgg"
            )
            let choice = ReaderChoice(categories: [try Tag("World")])
            func stray() throws -> Installation {
                let id = try ReaderInstallation.browser.newID()
                return choice.installation(SessionBrowser(installation: id, channel: channel))
            }
            try await hub.client.put(try stray(), channel: nil)
            try await backend.devices.put(try stray(), for: alice, from: ClientNetwork(nil))
            // Those of clients are not the pages', however similar.
            var foreign = try stray()
            foreign.id = try InstallationID("browser-\(UUID().uuidString)")
            try await hub.client.put(foreign, channel: nil)
            let lost = try await hub.store.read { db in
                try #require(try String.fetchOne(db.database, sql: "SELECT browser FROM session WHERE user IS NULL"))
            }
            try await hub.store.write {
                try $0.database.execute(sql: "UPDATE session SET subscription = NULL WHERE user IS NULL")
            }
            #expect(try await installations(hub).count == 7)
            try await hub.pages.endExpiredSessions()
            let left = Set(try await installations(hub))
            #expect(left == live.subtracting([lost]).union([foreign.id.text]))
            let devices = try await hub.accounts().devices(of: alice)
            #expect(devices.count == 2)
        }
    }
}
