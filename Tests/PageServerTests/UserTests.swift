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
import WebPages

@testable import AppBackend
@testable import HubServer
@testable import PageServer

/// People who sign in at the pages.
struct UserTests {
    /// Signs in, and gives the cookie.
    private func signIn(_ hub: PagesHub, _ user: String, cookie: String? = nil) async throws -> String {
        let reply = try await hub.send("POST", "/-/news/sign-in", cookie: cookie, form: "user=\(user)&password=\(user)")
        try #require(reply.status == 303, "\(reply.body)")
        return String(try #require(reply.headers["Set-Cookie"]).prefix { $0 != ";" })
    }

    private func page(_ hub: PagesHub, _ cookie: String?) async throws -> Reply {
        try await hub.send("GET", "/-/news/", cookie: cookie)
    }

    @Test func `an account is an invitation until its owner signs out`() async throws {
        try await PagesHub.run(users: ["alice"]) { hub in
            let before = try await page(hub, nil)
            #expect(before.status == 401 && before.body.contains("/-/news/sign-in"))
            let cookie = try await signIn(hub, "alice")
            let inside = try await page(hub, cookie)
            #expect(inside.status == 200 && inside.body.contains("Signed in as <strong>alice</strong>"))
            let left = try await hub.send("POST", "/-/news/sign-out", cookie: cookie)
            #expect(left.status == 303 && left.headers["Set-Cookie"]?.contains("Max-Age=0") == true)
            let after = try await page(hub, cookie)
            #expect(after.status == 401)
            #expect(try await hub.sessions().isEmpty)
            let name = try #require(UserName("alice"))
            let (devices, tokens) = (
                try await hub.accounts().devices(of: name), try await hub.accounts().tokens(of: name)
            )
            #expect(devices.isEmpty && tokens.isEmpty)
        }
    }

    @Test func `readers without an account do not wait for a locked database of users`() async throws {
        try await PagesHub.run(.public, users: ["alice"], nodes: 1) { hub in
            let lock = try hub.lockUsers()
            let waiting = Task { try await hub.send("GET", "/-/news/sign-in") }
            let reader = try await hub.reader(of: "World")
            for cookie in [nil, reader] {
                let read = try await page(hub, cookie)
                // After a failed attempt to open the database there is no link.
                #expect(read.status == 200 && read.body.contains("/-/news/sign-in"), "\(read.body)")
            }
            try lock.close()
            let form = try await waiting.value
            #expect(form.status == 200)
            _ = try await signIn(hub, "alice")
        }
    }

    @Test func `a sign-in renews the cookie, and the session keeps its choice and its installation`() async throws {
        try await PagesHub.run(users: ["alice"]) { hub in
            let old = try await hub.reader(of: "World")
            let before = try await hub.sessions()
            let new = try await signIn(hub, "alice", cookie: old)
            #expect(new != old)
            #expect(try await hub.sessions() == before)
            let (stale, fresh) = (try await page(hub, old), try await page(hub, new))
            #expect(stale.status == 401 && fresh.status == 200)
            let name = try #require(UserName("alice"))
            let devices = try await hub.accounts().devices(of: name)
            #expect(devices.map(\.id) == Array(before.keys))
            _ = try await hub.send("POST", "/-/news/sign-out", cookie: new)
            let reader = try await page(hub, new)
            #expect(reader.status == 200 && !reader.body.contains("Signed in as"))
            let rest = try await hub.accounts().devices(of: name)
            #expect(rest.isEmpty)
            let id = try #require(before.keys.first)
            #expect(try await hub.hasInstallation(id))
        }
    }

    @Test(arguments: ["sign-out", "leave"])
    func `a stream that is opened during a sign-out does not bring the user's tag back`(action: String) async throws {
        try await PagesHub.run(.public, users: ["alice"], nodes: 1) { hub in
            let cookie = try await signIn(hub, "alice")
            let (id, channel) = try await hub.store.read { db in
                let row = try #require(try Row.fetchOne(db.database, sql: "SELECT installation, channel FROM session"))
                return (row["installation"] as String, row["channel"] as String)
            }
            let turns = try #require(try await hub.pages.backend?.backend()).devices.handleTurns
            let handle = HandleDigest(.handle(channel))
            // The stream's request has seen that Alice is signed in, and waits to register her installation.
            let (held, isWaiting, gate) = (Gate(), Gate(), Gate())
            turns.onWait.withLock { $0 = { isWaiting.open() } }
            let holder = Task {
                try await turns.pass(handle) {
                    held.open()
                    await gate.opened()
                }
            }
            await held.opened()
            let stream = Task { try await hub.send("GET", "/-/news/events", cookie: cookie) }
            await isWaiting.opened()
            // It takes the session's turn after the stream's request; its token has been revoked by then.
            let waits = Gate()
            hub.pages.turns.onWait.withLock { $0 = { waits.open() } }
            let leaving = Task { try await hub.send("POST", "/-/news/\(action)", cookie: cookie) }
            await waits.opened()
            gate.open()
            try await holder.value
            let (late, left) = (try await stream.value, try await leaving.value)
            #expect(late.status == 401 && left.status == 303)
            let devices = try await hub.accounts().devices(of: try #require(UserName("alice")))
            #expect(devices.isEmpty)
            #expect(try await !hub.hasInstallation(id))
        }
    }

    @Test func `a client that leaves while its stream is being decided about leaves none behind`() async throws {
        let progress = Signal()
        try await PagesHub.run(.public, users: ["alice"]) {
            $0.onProgress = { progress.notify() }
        } _: { hub in
            let cookie = try await signIn(hub, "alice")
            let channel = try await hub.store.read {
                try String.fetchOne($0.database, sql: "SELECT channel FROM session")
            }
            let turns = try #require(try await hub.pages.backend?.backend()).devices.handleTurns
            let (held, isWaiting, gate) = (Gate(), Gate(), Gate())
            turns.onWait.withLock { $0 = { isWaiting.open() } }
            let holder = Task {
                try await turns.pass(HandleDigest(.handle(try #require(channel)))) {
                    held.open()
                    await gate.opened()
                }
            }
            await held.opened()
            // Each on a connection of its own.
            let leaving = OutboundClient(userAgent: "newswire-test/1")
            func request(_ cookie: String) -> OutboundRequest {
                OutboundRequest(
                    url: "http://\(hub.authority)/-/news/events",
                    headers: [(name: "Cookie", value: cookie)],
                    addresses: .any
                )
            }
            let first = request(cookie)
            let stream = Task { try await leaving.stream(first) }
            await isWaiting.opened()
            stream.cancel()
            await leaving.shutdown()
            gate.open()
            try await holder.value
            // Another reader's is opened after it.
            let staying = OutboundClient(userAgent: "newswire-test/1")
            let other = try await staying.stream(request(try await hub.reader(of: "World")))
            #expect(other.status == 200)
            let directory = hub.service.directory
            func count() -> Int { directory.all.reduce(0) { $0 + $1.hub.status.streamCount } }
            #expect(await progress.wait(atMost: .seconds(30)) { count() == 1 })
            other.cancel()
            await staying.shutdown()
            // Less than the time after which a stream without a reader ends.
            #expect(await progress.wait(atMost: .seconds(30)) { count() == 0 })
        }
    }

    @Test func `a new password, a revoked token and the end of the account sign out at once`() async throws {
        let ends: [(String, @Sendable (Accounts, UserName) async throws -> Void)] = [
            ("password", { try await $0.setPassword(of: $1, to: Password(new: "another password")) }),
            (
                "token",
                { accounts, name in
                    for token in try await accounts.tokens(of: name) {
                        try await accounts.revokeToken(token.id, of: name)
                    }
                }
            ),
            ("account", { try await $0.remove($1) }),
        ]
        for (label, end) in ends {
            try await PagesHub.run(users: ["alice", "bob"]) { hub in
                let cookie = try await signIn(hub, "alice", cookie: try await hub.reader(of: "World"))
                try await end(try hub.accounts(), try #require(UserName("alice")))
                let reply = try await page(hub, cookie)
                #expect(reply.status == 200 && !reply.body.contains("Signed in as"), "\(label)")
                let users = try await hub.store.read {
                    try String.fetchAll($0.database, sql: "SELECT user FROM session WHERE user <> ''")
                }
                #expect(users.isEmpty, "\(label)")
            }
        }
    }

    @Test func `wrong passwords are reported, and slowed`() async throws {
        try await PagesHub.run(.public, users: ["alice"]) { hub in
            var last: Reply?
            for _ in 1...12 {
                last = try await hub.send("POST", "/-/news/sign-in", form: "user=alice&password=wrong")
                if last?.status == 429 { break }
                #expect(last?.status == 401 && last?.headers["Set-Cookie"] == nil)
                #expect(last?.body.contains("password is wrong") == true)
                #expect(last?.body.contains(#"value="alice""#) == true)
            }
            #expect(last?.status == 429 && last?.headers["Retry-After"] != nil)
            #expect(try await hub.sessions().isEmpty)
        }
    }

    @Test func `the file alone signs nobody in`() throws {
        let (secret, other) = (SessionSecret.random(), SessionSecret.random())
        let sealed = try TokenSeal.seal("the token", with: secret)
        #expect(TokenSeal.open(sealed, with: secret) == "the token")
        #expect(TokenSeal.open(sealed, with: other) == nil)
        #expect(!sealed.contains(Array("the token".utf8)))
    }

    @Test func `devices are listed, and those of others cannot be removed`() async throws {
        try await PagesHub.run(users: ["alice", "bob"]) { hub in
            let (alice, second) = (try await signIn(hub, "alice"), try await signIn(hub, "alice"))
            let bob = try await signIn(hub, "bob")
            let name = try #require(UserName("alice"))
            let list = try await hub.send("GET", "/-/news/devices", cookie: alice)
            #expect(list.status == 200 && list.body.contains("this browser"))
            #expect(list.body.ranges(of: "stream").count >= 2)
            let ids = try await hub.accounts().devices(of: name).map(\.id)
            #expect(ids.count == 2)
            for id in ids {
                let form = "kind=installation&id=\(id)"
                _ = try await hub.send("POST", "/-/news/devices/remove", cookie: bob, form: form)
            }
            let kept = try await hub.accounts().devices(of: name).count
            #expect(kept == 2)
            // The page itself has no button.
            let other = try #require(ids.first { list.body.contains($0) })
            let form = "kind=installation&id=\(other)"
            _ = try await hub.send("POST", "/-/news/devices/remove", cookie: alice, form: form)
            let rest = try await hub.accounts().devices(of: name).count
            #expect(rest == 1)
            let out = try await page(hub, second)
            #expect(out.status == 401)
        }
    }

    @Test func `a message to a user is sent with a line for each platform, and is on the user's page`() async throws {
        try await PagesHub.run(users: ["alice", "bob"]) { hub in
            let (alice, bob) = (try await signIn(hub, "alice"), try await signIn(hub, "bob"))
            let form = "user=bob&text=lunch%3F&platform=stream&platform=apns"
            let sent = try await hub.send("POST", "/-/news/notify", cookie: alice, form: form)
            #expect(sent.status == 200 && sent.body.contains("</span> accepted"))
            #expect(sent.body.contains("</span> skipped: The hub has no credentials"))
            let read = try await page(hub, bob)
            #expect(read.body.contains("From alice: lunch?") && read.body.contains("For you"))
            let others = try await page(hub, alice)
            #expect(!others.body.contains("lunch?"))
            for (label, form) in [
                ("no right", "user=alice&text=x&platform=stream"), ("no platform", "user=bob&text=x"),
                ("no text", "user=bob&text=%20&platform=stream"), ("odd platform", "user=bob&text=x&platform=all"),
                ("odd name", "user=a%20%7C%7C%20b&text=x&platform=stream"),
            ] {
                let refused = try await hub.send("POST", "/-/news/notify", cookie: bob, form: form)
                #expect((400..<500).contains(refused.status) && refused.body.contains("Not sent"), "\(label)")
            }
        }
    }

    @Test func `a reload looks at no message of the log twice`() async throws {
        try await PagesHub.run(users: ["alice", "bob"]) { hub in
            let (alice, bob) = (try await signIn(hub, "alice"), try await signIn(hub, "bob"))
            func notify(_ text: String) async throws {
                let form = "user=bob&text=\(text)&platform=stream"
                let sent = try await hub.send("POST", "/-/news/notify", cookie: alice, form: form)
                try #require(sent.status == 200, "\(sent.body)")
            }
            let messages = try hub.service.directory.hub(named: "news").personalMessages
            for number in 1...3 {
                let body = Array(#"{"title":"News \#(number)"}"#.utf8)
                _ = try await hub.client.send(body, tags: "World", idempotencyKey: nil)
            }
            try await notify("lunch")
            for _ in 1...5 {
                let read = try await page(hub, bob)
                #expect(read.body.contains("From alice: lunch"))
            }
            #expect(await messages.scanned == 4)
            try await notify("dinner")
            for _ in 1...5 {
                let read = try await page(hub, bob)
                #expect(read.body.contains("From alice: lunch") && read.body.contains("From alice: dinner"))
            }
            #expect(await messages.scanned == 5)
            let others = try await page(hub, alice)
            #expect(!others.body.contains("lunch"))
        }
    }

    @Test func `messages to a former owner of a name are not those of the present one`() async throws {
        try await PagesHub.run(users: ["alice"]) { hub in
            let (tag, local) = (try Tag("username:carol"), hub.service.primaryLocalHub)
            let body = Array(#"{"title":"For the first Carol"}"#.utf8)
            _ = try await hub.client.send(body, tags: tag.text, idempotencyKey: nil)
            let first = try await local.messages(to: tag, since: Timestamp(milliseconds: 0))
            #expect(first.count == 1)
            let later = Timestamp(milliseconds: try #require(first.first).at.milliseconds + 1)
            let second = try await local.messages(to: tag, since: later)
            #expect(second.isEmpty)
        }
    }

    @Test func `a secure message is sent from the page, and read by its addressee alone`() async throws {
        try await PagesHub.run(users: ["alice", "bob"]) { hub in
            let (alice, bob) = (try await signIn(hub, "alice"), try await signIn(hub, "bob"))
            let form = "user=bob&text=the+%3Ccode%3E&secure=yes"
            let sent = try await hub.send("POST", "/-/news/notify", cookie: alice, form: form)
            #expect(sent.status == 200 && sent.body.contains("</span> accepted"), "\(sent.body)")
            #expect(sent.body.contains(#"name="secure" value="yes" checked"#))
            let read = try await page(hub, bob)
            #expect(read.body.contains("A secure message") && !read.body.contains("the &lt;code"))
            let id = try #require(read.body.firstMatch(of: /data-secure="(\d+)"/)?.1)
            let text = try await hub.send("GET", "/-/news/secure/\(id)", cookie: bob)
            #expect(text.status == 200 && text.body.contains("the &lt;code&gt;"))
            let other = try await hub.send("GET", "/-/news/secure/\(id)", cookie: alice)
            #expect(other.status == 404)
            let all = AppBackend.platformNames.map { "&platform=\($0)" }.joined()
            let every = try await hub.send("POST", "/-/news/notify", cookie: alice, form: form + all)
            #expect(every.status == 200)
            for (label, cookie, form, status) in [
                ("some platforms", alice, form + "&platform=stream", 400),
                ("no right", bob, "user=alice&text=x&secure=yes", 403),
                ("no text", alice, "user=bob&text=+&secure=yes", 400),
                ("too long", alice, "user=bob&secure=yes&text=" + String(repeating: "x", count: 1_001), 400),
            ] {
                let refused = try await hub.send("POST", "/-/news/notify", cookie: cookie, form: form)
                #expect(refused.status == status && refused.body.contains("Not sent"), "\(label)")
            }
            // Rights and limits are those of the app backend, whatever way a message takes.
            var replies: [Reply] = []
            for _ in 1...31 { replies.append(try await hub.send("POST", "/-/news/notify", cookie: alice, form: form)) }
            let refused = try #require(replies.first { $0.status == 429 })
            #expect(refused.headers["Retry-After"].flatMap { Int($0) } ?? 0 > 0)
        }
    }

    @Test func `a secure message asks for a sign-in, and is for its addressee`() async throws {
        try await PagesHub.run(.public, users: ["alice", "bob"]) { hub in
            let asked = try await hub.send("GET", "/-/news/secure/7")
            #expect(asked.status == 401 && asked.body.contains(#"name="secure" value="7""#))
            let form = "user=alice&password=alice&secure=7"
            let signedIn = try await hub.send("POST", "/-/news/sign-in", form: form)
            #expect(signedIn.headers["Location"] == "/-/news/secure/7")
            let cookie = String(try #require(signedIn.headers["Set-Cookie"]).prefix { $0 != ";" })
            let missing = try await hub.send("GET", "/-/news/secure/7", cookie: cookie)
            #expect(missing.status == 404)
            let odd = try await hub.send("POST", "/-/news/sign-in", form: "user=bob&password=bob&secure=..%2Fx")
            #expect(odd.headers["Location"] == "/-/news/")
        }
    }

    @Test func `a browser's subscription is one installation, and of the newest session`() async throws {
        try await PagesHub.run { hub in
            let (first, second) = (try await hub.reader(of: "World"), try await hub.reader(of: "Sports"))
            let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
            let body =
                #"{"endpoint":"https://push.example/1","keys":{"p256dh":"\#(key)","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}"#
            func browsers() async throws -> [String] {
                try await hub.store.read {
                    try String.fetchAll($0.database, sql: "SELECT browser FROM session WHERE subscription <> ''")
                }
            }
            for _ in 1...2 {
                let stored = try await hub.send("PUT", "/-/news/push", cookie: first, form: body)
                #expect(stored.status == 204, "\(stored.status)")
            }
            let own = try await browsers()
            #expect(own.count == 1)
            let again = try await hub.send("PUT", "/-/news/push", cookie: second, form: body)
            #expect(again.status == 204)
            let now = try await browsers()
            #expect(now.count == 1 && now != own)
            #expect(try await !hub.hasInstallation(own[0]))
            #expect(try await hub.hasInstallation(now[0]))
            for odd in ["", "{}", "[]", #"{"endpoint":"http://push.example/1","keys":{"p256dh":"x","auth":"y"}}"#] {
                let refused = try await hub.send("PUT", "/-/news/push", cookie: first, form: odd)
                #expect(refused.status == 400, "\(odd)")
            }
            let ended = try await hub.send("DELETE", "/-/news/push", cookie: second)
            #expect(ended.status == 204)
            #expect(try await !hub.hasInstallation(now[0]))
        }
    }
}
