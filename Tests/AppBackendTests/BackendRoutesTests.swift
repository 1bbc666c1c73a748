import Foundation
import HTTPTypes
import OutboundHTTP
import Testing

@testable import AppBackend

/// What holds for every route of the table.
@Suite struct BackendRoutesTests {
    private func target(_ route: BackendRoute) -> String { route.address.replacing(":id", with: "1-2-3") }

    @Test func `no route but a monitor's answers without credentials, or with wrong ones`() async throws {
        try await TestBackend.run { backend, hub in
            for (number, route) in BackendRoutes.all.enumerated() where route.access != .monitor {
                // The tutorials' client sends the second one before it has logged in.
                for header in [nil, "Basic (null)", "Basic", "Bearer x", "Negotiate x", "Basic \(wrong(number))"] {
                    let headers = header.map { [("Authorization", $0)] } ?? []
                    let reply = try await backend.send(
                        route.method.rawValue,
                        target(route),
                        as: nil,
                        headers: headers,
                        route.method == .get ? nil : ""
                    )
                    // Only a token can be logged out.
                    let isPassword = route.address == "/api/logout" && header == "Basic \(wrong(number))"
                    let what = "\(route.method) \(route.address) \(header ?? "none"): \(reply.body)"
                    #expect(reply.status == (isPassword ? 400 : 401), "\(what)")
                    #expect((reply.headers["WWW-Authenticate"] != nil) != isPassword, "\(what)")
                    #expect(reply.body.hasPrefix(#"{"error":""#), "\(what)")
                }
            }
            #expect(try await hub.registrations().isEmpty)
        }
    }

    /// A name of its own for each route, since guesses at one are slowed down.
    private func wrong(_ number: Int) -> String { Data("nobody\(number):wrong".utf8).base64EncodedString() }

    @Test func `no route answers another site's page, whoever is signed in`() async throws {
        try await TestBackend.run { backend, _ in
            for route in BackendRoutes.all {
                let reply = try await backend.send(
                    route.method.rawValue,
                    target(route),
                    as: "alice",
                    headers: [("Origin", "https://elsewhere.example")]
                )
                #expect(reply.status == 403, "\(route.method) \(route.address)")
            }
        }
    }

    @Test(arguments: ["/", "/api", "/api/registers", "/api/register/1/2", "/news/registrations", "/api/notifications/"])
    func `another address is not found`(path: String) async throws {
        try await TestBackend.run { backend, _ in
            let reply = try await backend.send("GET", path, as: "alice")
            #expect(reply.status == 404 && reply.body.hasPrefix(#"{"error":""#), "\(reply.body)")
        }
    }

    @Test func `the table has every operation once`() {
        let names = BackendRoutes.all.map { "\($0.method) \($0.address)" }
        #expect(Set(names).count == names.count)
        #expect(BackendRoutes.all.filter { $0.access == .anybody }.map(\.address) == ["/api/login", "/api/logout"])
        #expect(
            Set(BackendRoutes.all.filter { $0.access == .monitor }.map(\.address))
                == ["/healthz", "/readyz", "/metrics"]
        )
    }
}
