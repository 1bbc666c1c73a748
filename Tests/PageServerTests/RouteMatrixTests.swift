import HTTPTypes
import HubProtocol
import Hummingbird
import OutboundHTTP
import Testing
import WebPages

@testable import HubServer
@testable import PageServer

/// Every route of the table, for everybody whom it must refuse.
///
/// A new route takes part in all of these as it is.
struct RouteMatrixTests {
    private static let routes = PageRoutes.all
    /// Without the operator's, which are unknown to readers: see ``OperatorEntryTests``.
    private static let forms = routes.filter { $0.method != .get && !$0.address.hasPrefix("/-/:hub/admin/") }

    /// What somebody without a session gets where only the invited read; 401 for any other route.
    private static let uninvited = [
        // It asks for the form, which is refused without an invitation.
        "GET /-/:hub/enter": 200, "POST /-/:hub/enter": 403,
        "POST /-/:hub/admin/enter": 403,
        // There is no session to end.
        "POST /-/:hub/leave": 303,
        // A hub without an authority of its own.
        "GET /-/:hub/certificate": 404, "GET /-/:hub/certificate/newswire-hub.crt": 404,
        // Browsers ask for it without cookies.
        "GET /-/:hub/manifest.webmanifest": 200,
        "GET /-/:hub/feeds/:file": 404,
        // Nobody can sign in at these hubs.
        "GET /-/:hub/sign-in": 404, "POST /-/:hub/sign-in": 404, "POST /-/:hub/sign-out": 303,
        "GET /-/:hub/devices": 404, "POST /-/:hub/devices/remove": 404, "POST /-/:hub/notify": 404,
        "GET /-/:hub/secure/:id": 404,
    ]

    private static func path(_ route: PageRoute, _ hub: String) -> String {
        // The main page's own address ends in a slash.
        (route.address == PageRoute.home ? "\(PageRoute.home)/" : route.address)
            .replacing(":hub", with: hub).replacing(":file", with: "World.atom").replacing(":id", with: "7")
            .replacing(":message", with: "7")
    }

    private static func name(_ route: PageRoute) -> String { "\(route.method.rawValue) \(route.address)" }

    @Test func `the routes of this test exist`() {
        #expect(Set(Self.uninvited.keys).isSubset(of: Self.routes.map(Self.name)))
        #expect(Self.forms.count >= 3 && Self.routes.count - Self.forms.count >= 5)
    }

    @Test func `without a session of this hub only the ways in answer`() async throws {
        try await PagesHub.run { hub in
            let (own, other) = (try await hub.reader(of: "World"), try await hub.reader(of: "World", in: "town"))
            let value = try #require(own.split(separator: "=").last.map(String.init))
            let foreign = try #require(other.split(separator: "=").last.map(String.init))
            let parts = value.split(separator: ".")
            let (name, letters) = ("__Host-newswire-news", String(repeating: "A", count: 32))
            let before = try await hub.sessions()
            let cookies: [(String, String?)] = [
                ("none", nil), ("another hub's", other), ("another hub's under this name", "\(name)=\(foreign)"),
                ("another secret", "\(name)=\(parts[0]).\(letters)"),
                ("another name", "\(name)=\(letters).\(parts[1])"), ("longer", "\(name)=\(value)A"),
                ("no secret", "\(name)=\(parts[0])"), ("empty", "\(name)="),
                ("this one's under an insecure name", "newswire-news=\(value)"),
            ]
            for (label, cookie) in cookies {
                try await expectUninvited(hub, cookie, label)
            }
            let proven = try await hub.send("GET", "/-/news/session", cookie: own)
            #expect(proven.status == 204)
            hub.clock.advance(by: ReaderSession.lifetime)
            try await expectUninvited(hub, own, "expired")
            #expect(try await hub.sessions() == before)
        }
    }

    private func expectUninvited(_ hub: PagesHub, _ cookie: String?, _ label: String) async throws {
        for route in Self.routes {
            let reply = try await hub.send(route.method.rawValue, Self.path(route, "news"), cookie: cookie)
            #expect(reply.status == Self.uninvited[Self.name(route)] ?? 401, "\(label): \(Self.name(route))")
            #expect(!reply.body.contains("World"), "\(label): \(Self.name(route))")
        }
    }

    @Test func `a form of another site does nothing, whatever session it brings`() async throws {
        try await PagesHub.run(nodes: 1) { hub in
            let cookie = try await hub.reader(of: "World")
            let before = try await hub.sessions()
            let senders: [(String, [(String, String)])] = [
                ("another site", [("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example")]),
                ("a neighbour", [("Sec-Fetch-Site", "same-site")]), ("a bookmark", [("Sec-Fetch-Site", "none")]),
                ("a lie", [("Sec-Fetch-Site", "cross-site"), ("Origin", "http://\(hub.authority)")]),
                ("another origin", [("Origin", "http://evil.example")]), ("no origin", [("Origin", "null")]),
                ("another port", [("Origin", "http://127.0.0.1:1")]),
                ("a longer name", [("Origin", "http://\(hub.authority).evil.example")]), ("nobody", []),
            ]
            for (label, headers) in senders {
                for route in Self.forms {
                    let path = Self.path(route, "news")
                    for cookie in [cookie, nil] {
                        let reply = try await hub.send(
                            route.method.rawValue,
                            path,
                            cookie: cookie,
                            headers: headers,
                            form: "category=Sports"
                        )
                        #expect(reply.status == 403, "\(label): \(Self.name(route))")
                        #expect(reply.headers["Set-Cookie"] == nil)
                    }
                }
            }
            #expect(try await hub.sessions() == before)
            // A browser that says nothing of fetch metadata.
            let origin = [("Origin", "http://\(hub.authority)")]
            let reply = try await hub.send(
                "POST",
                "/-/news/categories",
                cookie: cookie,
                headers: origin,
                form: "category=Sports"
            )
            #expect(reply.status == 303)
        }
    }

    @Test func `a script of a neighbouring site does not use a session, and a link does`() async throws {
        try await PagesHub.run { hub in
            let cookie = try await hub.reader(of: "World")
            let script = [("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "cors")]
            for route in Self.routes where route.method == .get {
                let reply = try await hub.send("GET", Self.path(route, "news"), cookie: cookie, headers: script)
                #expect(reply.status == Self.uninvited[Self.name(route)] ?? 401, "\(Self.name(route))")
            }
            for site in ["same-site", "cross-site"] {
                let link = [("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "navigate")]
                let reply = try await hub.send("GET", "/-/news/", cookie: cookie, headers: link)
                #expect(reply.status == 200)
            }
        }
    }

    @Test func `forms that are too large or are not text are refused`() async throws {
        try await PagesHub.run { hub in
            let cookie = try await hub.reader(of: "World")
            let before = try await hub.sessions()
            let large = "category=" + String(repeating: "a", count: PageRequest.maximumForm)
            for route in Self.forms {
                for (form, status) in [(large, 413), ("category=%FF", 400), ("%C3%28=x", 400), ("a=%ED%A0%80", 400)] {
                    let path = Self.path(route, "news")
                    let reply = try await hub.send(route.method.rawValue, path, cookie: cookie, form: form)
                    #expect(reply.status == status, "\(Self.name(route)) \(form.prefix(20)): \(reply.body)")
                }
            }
            #expect(try await hub.sessions() == before)
        }
    }

    @Test func `a hub that is unknown or disabled, and one without pages, look the same`() async throws {
        var bodies: Set<String> = []
        // Of feeds, which programs read.
        var feedBodies: Set<String> = []
        func expectNothing(_ hub: PagesHub, _ names: [String], cookie: String?) async throws {
            for name in names {
                for route in Self.routes {
                    let reply = try await hub.send(route.method.rawValue, Self.path(route, name), cookie: cookie)
                    #expect(reply.status == 404, "\(name): \(Self.name(route))")
                    #expect(reply.headers["Set-Cookie"] == nil)
                    if route.method == .get, route.address == FeedPageRoutes.address {
                        feedBodies.insert(reply.body.replacing(/TrackingId:[^<]*/, with: ""))
                    } else {
                        bodies.insert(reply.body)
                    }
                }
            }
        }
        let names = ["unknown", "closed", "CLOSED", "-", "a%2Fb", "%FF", String(repeating: "n", count: 300)]
        for access in [PageAccess.invited, .public] {
            try await PagesHub.run(access) { hub in
                let cookie = try await hub.reader(of: "World")
                try await expectNothing(hub, names, cookie: cookie)
                let nothing = try await hub.send("GET", "/-/news/nothing", cookie: cookie)
                #expect(nothing.status == 404)
                bodies.insert(nothing.body)
            }
        }
        try await PagesHub.run(.off) { hub in
            try await expectNothing(hub, ["news", "town", "unknown", "closed"], cookie: nil)
        }
        #expect(bodies.count == 1, "\(bodies)")
        #expect(feedBodies.count == 1, "\(feedBodies)")
        #expect(bodies.allSatisfy { !$0.contains("news<") && !$0.contains("unknown") })
    }

    @Test func `every answer has the headers that keep it to itself`() async throws {
        try await PagesHub.run { hub in
            let cookie = try await hub.reader(of: "World")
            for name in ["news", "unknown"] {
                for route in Self.routes where !route.address.hasSuffix("/events") {
                    let form = route.method == .get ? nil : "category=World"
                    let reply = try await hub.send(
                        route.method.rawValue,
                        Self.path(route, name),
                        cookie: cookie,
                        form: form
                    )
                    let label = "\(name): \(Self.name(route)): \(reply.status)"
                    let headers = reply.headers
                    if !route.address.contains("/feeds/") || name == "unknown" && route.method == .post {
                        #expect(headers["X-Content-Type-Options"] == "nosniff", "\(label)")
                        #expect(headers["Cache-Control"]?.hasPrefix("no-") == true, "\(label)")
                    }
                    guard headers["Content-Type"]?.hasPrefix("text/html") == true else { continue }
                    #expect(headers["Content-Security-Policy"] == PageHeaders.policy, "\(label)")
                    #expect(headers["Cache-Control"] == "no-store", "\(label)")
                    #expect(headers["Referrer-Policy"] == "same-origin", "\(label)")
                    let isReader = reply.status == 200 && reply.body.contains("id=\"messages\"")
                    #expect(headers["Cross-Origin-Opener-Policy"] == (isReader ? nil : "same-origin"), "\(label)")
                }
            }
        }
    }

    @Test func `HEAD is answered as GET is, without a body, and reads nothing`() async throws {
        try await PagesHub.run { hub in
            let cookie = try await hub.reader(of: "World")
            let before = try await hub.sessions()
            for route in Self.routes where route.method == .get {
                let path = Self.path(route, "news")
                let head = try await hub.send("HEAD", path, cookie: cookie)
                #expect(head.body.isEmpty, "\(path)")
                if route.address.hasSuffix(ReaderRoutes.events) {
                    #expect(head.status == 200 && head.headers["Content-Type"] == "text/event-stream")
                    let anonymous = try await hub.send("HEAD", path)
                    #expect(anonymous.status == 401)
                } else {
                    #expect(try await hub.sessions() == before, "\(path)")
                    let reply = try await hub.send("GET", path, cookie: cookie)
                    #expect(head.status == reply.status, "\(path)")
                    #expect(head.headers["Content-Type"] == reply.headers["Content-Type"], "\(path)")
                }
            }
            for path in WebAsset.all.map(\.path) + [WorkerFile.path] {
                let head = try await hub.send("HEAD", path)
                #expect(head.status == 200 && head.body.isEmpty, "\(path)")
            }
        }
    }

    @Test func `public feeds are for pages of any origin, nothing else is`() async throws {
        for access in [PageAccess.public, .invited] {
            try await PagesHub.run(access) { hub in
                let preflight = try await hub.send("OPTIONS", "/-/news/feeds/World.atom")
                #expect(preflight.status == (access == .public ? 204 : 404))
                #expect(preflight.headers["Access-Control-Allow-Origin"] == (access == .public ? "*" : nil))
                let cookie = try await hub.reader(of: "World")
                for route in Self.routes where route.method == .get && !route.address.hasSuffix(ReaderRoutes.events) {
                    let reply = try await hub.send("GET", Self.path(route, "news"), cookie: cookie)
                    let isFeed = route.address.hasSuffix("/feeds/:file") && access == .public
                    #expect(
                        reply.headers["Access-Control-Allow-Origin"] == (isFeed ? "*" : nil),
                        "\(access): \(Self.name(route))"
                    )
                }
            }
        }
    }

    @Test func `a hub may have the name of the folder of files`() async throws {
        try await PagesHub.run(.public) { hub in
            for path in ["/-/assets/", "/-/assets/manifest.webmanifest"] {
                let reply = try await hub.send("GET", path)
                #expect(reply.status == 200 && reply.body.contains("assets"), "\(path)")
            }
        }
        #expect(throws: (any Error).self) { try HubName("-") }
    }

    @Test func `a hub may have the name of the worker's file`() async throws {
        try await PagesHub.run(.public) { hub in
            for path in ["/-/sw.js/", "/-/sw.js/manifest.webmanifest", "/-/sw.js/sign-in"] {
                let reply = try await hub.send("GET", path)
                let isPage = path.hasSuffix("sign-in") ? reply.status == 404 : reply.body.contains("sw.js")
                #expect(isPage && reply.headers["Content-Type"]?.contains("javascript") != true, "\(path)")
            }
            let chosen = try await hub.send("POST", "/-/sw.js/categories", form: "category=World")
            #expect(chosen.status == 303 && chosen.headers["Location"] == "/-/sw.js/")
            for path in ["/-/sw.js", WorkerFile.path] {
                let worker = try await hub.send("GET", path)
                #expect(worker.status == 200 && worker.body.contains("showNotification"), "\(path)")
                #expect(worker.headers["Content-Type"] == WorkerFile.mediaType)
            }
        }
    }
}
