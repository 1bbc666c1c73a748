import AppBackend
import HTTPTypes
import HubProtocol
import OutboundHTTP
import Testing

@testable import PageServer

/// Every route of the table, for two users who are signed in and for an operator.
struct PersonMatrixTests {
    /// The statuses of a route.
    private struct Expected {
        /// For Alice, whose things the requests name.
        let owner: Int
        /// For Bob.
        let other: Int
        /// For a browser that has an operator's session and none of a reader.
        let `operator`: Int
        var form = "category=World"
    }

    private static let text = "for Alice alone"

    private static let readers: [String: Expected] = [
        "GET /-/:hub": Expected(owner: 200, other: 200, operator: 401),
        "POST /-/:hub/categories": Expected(owner: 303, other: 303, operator: 401),
        "GET /-/:hub/session": Expected(owner: 204, other: 204, operator: 401),
        "GET /-/:hub/manifest.webmanifest": Expected(owner: 200, other: 200, operator: 200),
        "GET /-/:hub/certificate": Expected(owner: 404, other: 404, operator: 404),
        "GET /-/:hub/certificate/newswire-hub.crt": Expected(owner: 404, other: 404, operator: 404),
        "GET /-/:hub/feeds": Expected(owner: 200, other: 200, operator: 401),
        // Only readers with an invitation can create addresses.
        "POST /-/:hub/feeds": Expected(owner: 303, other: 303, operator: 401),
        "POST /-/:hub/feeds/end": Expected(owner: 303, other: 303, operator: 401, form: "id=1"),
        // Feed readers have a key, and no session.
        "GET /-/:hub/feeds/:file": Expected(owner: 404, other: 404, operator: 404),
        // This hub shows no pictures.
        "GET /-/:hub/images/:message": Expected(owner: 404, other: 404, operator: 401),
        "GET /-/:hub/enter": Expected(owner: 200, other: 200, operator: 200),
        "POST /-/:hub/enter": Expected(owner: 303, other: 303, operator: 403),
        "POST /-/:hub/leave": Expected(owner: 303, other: 303, operator: 303),
        "GET /-/:hub/sign-in": Expected(owner: 303, other: 303, operator: 200),
        "POST /-/:hub/sign-in": Expected(owner: 401, other: 401, operator: 401, form: "user=alice&password=wrong"),
        "POST /-/:hub/sign-out": Expected(owner: 303, other: 303, operator: 303),
        "GET /-/:hub/devices": Expected(owner: 200, other: 200, operator: 303),
        "POST /-/:hub/devices/remove": Expected(
            owner: 303,
            other: 303,
            operator: 303,
            form: "kind=installation&id=DEVICE"
        ),
        "POST /-/:hub/notify": Expected(
            owner: 200,
            other: 403,
            operator: 303,
            form: "user=alice&text=x&platform=stream"
        ),
        "GET /-/:hub/secure/:id": Expected(owner: 200, other: 404, operator: 401),
        // This hub sends to no browsers.
        "GET /-/:hub/push": Expected(owner: 404, other: 404, operator: 401),
        "PUT /-/:hub/push": Expected(owner: 400, other: 400, operator: 401),
        "DELETE /-/:hub/push": Expected(owner: 204, other: 204, operator: 401),
    ]

    private static func name(_ route: PageRoute) -> String { "\(route.method.rawValue) \(route.address)" }

    private static func path(_ route: PageRoute, id: String) -> String {
        // The main page's own address ends in a slash.
        (route.address == PageRoute.home ? "\(PageRoute.home)/" : route.address)
            .replacing(":hub", with: "news").replacing(":file", with: "World.atom").replacing(":id", with: id)
            .replacing(":name", with: "desk")
    }

    private static func isOperators(_ route: PageRoute) -> Bool { route.address.hasPrefix("/-/:hub/admin") }

    /// The routes with their expectations; a stream does not end, and is in tests of its own.
    private static let routes = PageRoutes.all.filter { $0.method != .head && !$0.address.hasSuffix("/events") }

    private func signIn(_ hub: PagesHub, _ user: String, cookie: String? = nil) async throws -> String {
        let reply = try await hub.send("POST", "/-/news/sign-in", cookie: cookie, form: "user=\(user)&password=\(user)")
        return String(try #require(reply.headers["Set-Cookie"], "\(reply.body)").prefix { $0 != ";" })
    }

    @Test func `each person does and sees what is theirs, and nothing of the others`() async throws {
        try await PagesHub.run(users: ["alice", "bob"]) { hub in
            let name = try #require(UserName("alice"))
            let alice = try await signIn(hub, "alice")
            let form = "user=alice&secure=yes&text=\(Self.text.replacing(" ", with: "+"))"
            let sent = try await hub.send("POST", "/-/news/notify", cookie: alice, form: form)
            #expect(sent.status == 200, "\(sent.body)")
            let home = try await hub.send("GET", "/-/news/", cookie: alice)
            let id = try #require(home.body.firstMatch(of: /data-secure="(\d+)"/)?.1)
            let device = try #require(try await hub.accounts().devices(of: name).first?.id)
            let operatorCookie = try await OperatorBrowser(hub).cookie
            #expect(Set(Self.routes.filter { !Self.isOperators($0) }.map(Self.name)) == Set(Self.readers.keys))
            for route in Self.routes where !Self.isOperators(route) {
                let expected = try #require(Self.readers[Self.name(route)])
                let form = expected.form.replacing("DEVICE", with: device)
                func reply(to cookie: String) async throws -> Reply {
                    let path = Self.path(route, id: String(id))
                    return try await hub.send(route.method.rawValue, path, cookie: cookie, form: form)
                }
                let bob = try await signIn(hub, "bob")
                let others = [("bob", bob, expected.other), ("operator", operatorCookie, expected.operator)]
                for (who, cookie, status) in others {
                    let reply = try await reply(to: cookie)
                    #expect(reply.status == status, "\(who): \(Self.name(route)): \(reply.body)")
                    #expect(!reply.body.contains(Self.text) && !reply.body.contains(device), "\(Self.name(route))")
                }
                let left = try await hub.accounts().devices(of: name).map(\.id)
                #expect(left == [device], "\(Self.name(route))")
            }
            // Alice last: nobody has used up, or ended, what is hers.
            for route in Self.routes where !Self.isOperators(route) {
                let expected = try #require(Self.readers[Self.name(route)])
                let cookie = try await signIn(hub, "alice")
                let form = expected.form.replacing("DEVICE", with: device)
                let path = Self.path(route, id: String(id))
                let reply = try await hub.send(route.method.rawValue, path, cookie: cookie, form: form)
                #expect(reply.status == expected.owner, "alice: \(Self.name(route)): \(reply.body)")
                guard route.address.hasSuffix("/secure/:id") else { continue }
                #expect(reply.body.contains(Self.text))
            }
        }
    }

    @Test func `the operator's view is for the operator, whoever else is signed in`() async throws {
        try await PagesHub.run(users: ["alice"]) { hub in
            let alice = try await signIn(hub, "alice")
            let browser = try await OperatorBrowser(hub)
            let before = try await browser.actions()
            for route in Self.routes where Self.isOperators(route) {
                let path = Self.path(route, id: "00000000000000000000000000000000")
                let reply = try await hub.send(route.method.rawValue, path, cookie: alice, form: "text=x")
                let isLink = route.method == .post && route.address.hasSuffix("/enter")
                #expect(reply.status == (isLink ? 403 : 401), "alice: \(Self.name(route))")
            }
            let after = try await browser.actions()
            #expect(after == before)
            for route in Self.routes where Self.isOperators(route) && !route.address.hasSuffix("/leave") {
                let path = Self.path(route, id: "00000000000000000000000000000000")
                let cookie = "\(alice); \(browser.cookie)"
                let reply = try await hub.send(route.method.rawValue, path, cookie: cookie, form: "text=x")
                let isUnknownLink = route.method == .get && route.address.hasSuffix("/enter")
                #expect(
                    isUnknownLink ? reply.status == 401 : [200, 303, 400, 403, 404].contains(reply.status),
                    "operator: \(Self.name(route)): \(reply.status)"
                )
            }
        }
    }
}
