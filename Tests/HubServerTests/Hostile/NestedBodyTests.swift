import HTTPTypes
import HubProtocol
import Testing

@testable import HubServer

/// JSON with more levels than Foundation's decoder survives (Swift 6.3.1).
struct NestedBodyTests {
    private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    private static let texts = [
        repeated("[", 513), repeated("{\"a\":", 512) + "[", repeated("[", 513) + "\r",
        repeated("[", 65) + repeated("]", 65), repeated("{\"a\":", 64) + "[]" + repeated("}", 64),
    ]

    /// An address of the route.
    private static func path(_ route: Route) -> String {
        route.address.replacing(":hub", with: "news").replacing(/:[a-z]+/, with: "1-2-3")
    }

    @Test func `no route is harmed by a body with many levels, and the hub still serves`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let routes = RouteTable.routes.filter { $0.method == .put || $0.method == .post || $0.method == .patch }
            #expect(routes.count > 15)
            for route in routes {
                for text in Self.texts {
                    let rule = route.scope == .hub ? hub.full : hub.root
                    let headers = ["Content-Type": "application/json"]
                    let reply = try await hub.send(
                        route.method.rawValue,
                        Self.path(route),
                        as: rule,
                        headers: headers,
                        text
                    )
                    #expect(
                        reply.status != 401 && reply.status < 500,
                        "\(route.method) \(route.address): \(reply.status)"
                    )
                }
            }
            #expect(try await hub.post().status == 201)
        }
    }

    @Test(arguments: [
        ("POST", "recipients"), ("PUT", "categories/desk"), ("PUT", "publishers/desk"), ("PUT", "alarms/x/silence"),
        ("PUT", "installations/x"), ("PATCH", "installations/x"), ("POST", "messages"),
    ])
    func `a body with many levels is 400`(method: String, path: String) async throws {
        try await TestHub.run(try Scratch()) { hub in
            for text in Self.texts {
                let headers = ["Content-Type": "application/json", HeaderName.format: "template"]
                let reply = try await hub.send(method, path, as: hub.full, headers: headers, text)
                // The body of a silence has 1 KiB at most.
                let isRefused = reply.status == 400 || reply.status == 413 && text.utf8.count > 1_024
                #expect(isRefused, "\(text.prefix(8)): \(reply.status) \(reply.body)")
            }
        }
    }

    @Test func `an unknown member may have 63 levels, not 64`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            for (levels, status) in [(63, 200), (64, 400)] {
                let value = Self.repeated("[", levels) + Self.repeated("]", levels)
                let body = #"{"tags":"","more":\#(value)}"#
                let reply = try await hub.send("POST", "recipients", as: hub.full, body)
                #expect(reply.status == status, "\(levels): \(reply.body)")
            }
        }
    }
}
