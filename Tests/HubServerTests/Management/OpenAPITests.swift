import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import Testing

import struct HubTestServer.Oracle

@testable import HubServer

/// The description of the hub's own JSON routes, `docs/openapi.yaml`.
@Suite(.enabled(if: Oracle.python != nil, "'make oracles' installs the libraries"), .timeLimit(.minutes(10)))
struct OpenAPITests {
    /// The routes of the Notification Hubs protocol, and streams, which are not JSON: beginnings of their addresses.
    private static let others = [
        "/registrationids", "/registrations", "/tags/:tag/registrations", "/installations/:id", "/messages",
        "/schedulednotifications", "/feedback", "/jobs",
    ]

    private struct Question: Encodable {
        struct Route: Encodable {
            let method: String
            let address: String
            let right: String
        }

        let url: String
        let authorization: String
        let examples: [String: String]
        let routes: [Route]
    }

    /// The hub's own JSON routes.
    private static var routes: [Question.Route] {
        RouteTable.routes.compactMap { route in
            guard route.address.hasPrefix("/:hub/") else { return nil }
            let address = route.address.dropFirst("/:hub".count)
            guard !others.contains(where: { address.hasPrefix($0) }) else { return nil }
            let parts = address.split(separator: "/").map { $0.hasPrefix(":") ? "{\($0.dropFirst())}" : String($0) }
            return Question.Route(
                method: route.method.rawValue,
                address: "/" + parts.joined(separator: "/"),
                right: route.right == .manage ? "manage" : route.right == .send ? "send" : "listen"
            )
        }
    }

    @Test func `the routes answer as the description says`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.register(Agent("desk", tags: ["World"]))
            let message = try await hub.accept("Storm", tags: "World")
            let report = PublisherReport(
                schedule: .watch,
                lastPass: hub.clock.now.formatted(.iso8601),
                exitCode: 0,
                outbox: 1,
                feeds: [.init(category: "World", url: "https://a.example/", state: "failing")]
            )
            let local = hub.service.primaryLocalHub
            try await local.report(report, publisher: "desk", timeout: .seconds(60))
            try await local.setCategories(["Storms"], publisher: "desk")
            let url = "http://127.0.0.1:\(hub.port)/news"
            let question = Question(
                url: url,
                authorization: SharedAccessToken.sign(
                    resource: url,
                    keyName: hub.full.name,
                    key: hub.full.primaryKey,
                    expiresAt: Int64(hub.clock.now.timeIntervalSince1970) + 3_600
                ),
                examples: ["publisher": "desk", "message": message.text, "alarm": "none"],
                routes: Self.routes
            )
            let text = String(decoding: try JSONEncoder().encode(question), as: UTF8.self)
            let verdict = try await Oracle("openapi.py").judge(text)
            #expect(verdict.status == 0, "\(verdict.output)")
        }
    }
}
