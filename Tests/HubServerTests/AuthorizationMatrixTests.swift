import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Testing

@testable import HubServer

/// Every route with every kind of token: made from the route table, so that none can be left out.
struct AuthorizationMatrixTests {
    /// A kind of token, and what it may do.
    private struct Kind {
        let name: String
        let header: String?
        var rights: AccessRights = []
        var isOfNamespace = false

        func mayDo(_ right: AccessRights, _ scope: Route.Scope) -> Bool {
            rights.grants(right) && (scope == .hub || isOfNamespace)
        }
    }

    private static let rules = """
        <AuthorizationRules>\(TestHub.rule("L", ["Listen"], primary: "listenlisten", secondary: "listen2"))\
        \(TestHub.rule("S", ["Send"], primary: "sendsend", secondary: "send2"))\
        \(TestHub.rule("M", ["Listen", "Manage", "Send"], primary: "managemanage", secondary: "manage2"))%@\
        </AuthorizationRules>
        """
    private static let old = TestHub.rule("Old", ["Listen", "Manage", "Send"], primary: "oldold", secondary: "old2")

    private static func rule(_ name: String, _ key: String) -> AccessRule {
        AccessRule(name: name, primaryKey: key, secondaryKey: key, rights: [])
    }

    private static func kinds(_ hub: TestHub, other: NamedHub) -> [Kind] {
        let root = "http://h/"
        func token(_ name: String, _ key: String, resource: String = root, expiresIn: Int64 = 3_600) -> String {
            hub.token(rule(name, key), resource: resource, expiresIn: expiresIn)
        }
        return [
            Kind(name: "no token", header: nil),
            Kind(name: "another scheme", header: "Basic TTptYW5hZ2VtYW5hZ2U="),
            Kind(name: "malformed", header: "SharedAccessSignature sr=x&skn=M&se=soon"),
            Kind(name: "bad signature", header: token("M", "managemanagf")),
            Kind(name: "unknown rule", header: token("N", "managemanage")),
            Kind(name: "expired", header: token("M", "managemanage", expiresIn: -600)),
            Kind(name: "wrong scope", header: token("M", "managemanage", resource: "http://h/elsewhere/")),
            Kind(name: "other hub", header: token(other.full.name, other.full.primaryKey)),
            Kind(name: "revoked key", header: token("Old", "oldold")),
            Kind(name: "Listen", header: token("L", "listenlisten"), rights: .listen),
            Kind(name: "Listen, second key", header: token("L", "listen2"), rights: .listen),
            Kind(name: "Send", header: token("S", "sendsend"), rights: .send),
            Kind(name: "Manage", header: token("M", "managemanage"), rights: [.listen, .send, .manage]),
            Kind(
                name: "the namespace's Manage",
                header: token(hub.root.name, hub.root.primaryKey),
                rights: [.listen, .send, .manage],
                isOfNamespace: true
            ),
        ]
    }

    /// An address of the route at which nothing is lost; parameters are of no use to the handlers that are reached.
    private static func path(_ route: Route, query: String = "") -> String {
        let isRemoval = route.method == .delete && route.address == "/:hub"
        let hub = route.address.replacing(":hub", with: isRemoval ? "absent" : "matrix")
        return hub.replacing(/:[a-z]+/, with: "1-2-3") + (query.isEmpty ? "" : "?\(query)")
    }

    @Test func `every route lets in those who may, and nobody else`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            _ = try await hub.make("matrix", Self.rules.replacing("%@", with: Self.old))
            let other = try await hub.make("other")
            let update = try await hub.manage(
                "PUT",
                "/matrix",
                headers: ["If-Match": "*"],
                TestHub.entry(Self.rules.replacing("%@", with: ""))
            )
            #expect(update.status == 200, "\(update.body)")
            let kinds = Self.kinds(hub, other: other)
            for route in RouteTable.routes {
                var requests = [(Self.path(route), route.right)]
                if let exception = route.exception {
                    requests.append((Self.path(route, query: exception.example), exception.right))
                }
                for (path, right) in requests {
                    for kind in kinds {
                        let headers = kind.header.map { ["Authorization": $0] } ?? [:]
                        let reply = try await hub.send(route.method.rawValue, path, as: nil, headers: headers)
                        let isLetIn = reply.status != 401
                        let label = "\(route.method) \(path), \(kind.name): \(reply.status)"
                        #expect(isLetIn == kind.mayDo(right, route.scope), "\(label)")
                        if reply.status == 401 {
                            #expect(reply.body.hasPrefix("<Error><Code>401</Code><Detail>"), "\(label)")
                        }
                    }
                }
            }
        }
    }

    @Test func `every operation of the protocol is in the table`() {
        let known = Set(RouteTable.routes.map { "\($0.method) \($0.address)" })
        let wanted = [
            "POST /:hub/registrationids", "POST /:hub/registrations", "PUT /:hub/registrations/:id",
            "GET /:hub/registrations/:id", "DELETE /:hub/registrations/:id", "GET /:hub/registrations",
            "GET /:hub/tags/:tag/registrations", "PUT /:hub/installations/:id", "GET /:hub/installations/:id",
            "PATCH /:hub/installations/:id", "DELETE /:hub/installations/:id", "POST /:hub/messages",
            "GET /:hub/messages/:id", "POST /:hub/schedulednotifications", "DELETE /:hub/schedulednotifications/:id",
            "GET /:hub/feedbackcontainer", "PUT /:hub", "GET /:hub", "DELETE /:hub", "GET /",
            "GET /$Resources/NotificationHubs",
        ]
        #expect(wanted.filter { !known.contains($0) } == [])
    }
}
