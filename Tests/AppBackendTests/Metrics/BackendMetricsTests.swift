import Foundation
import GRDB
import HTTPTypes
import HubProtocol
import OutboundHTTP
import SQLiteFiles
import Synchronization
import Testing

@testable import AppBackend

/// `/metrics`, alone and on a hub's page.
@Suite struct BackendMetricsTests {
    /// The samples of a page, by name and labels.
    private func samples(_ page: String) throws -> [String: Double] {
        var samples: [String: Double] = [:]
        for line in page.split(separator: "\n") where !line.hasPrefix("#") {
            let space = try #require(line.lastIndex(of: " "))
            let value: Double = try #require(Double(String(line[space...].dropFirst())))
            samples[String(line[..<space])] = value
        }
        return samples
    }

    private func samples(_ backend: TestBackend) async throws -> [String: Double] {
        let reply = try await backend.send("GET", "/metrics", as: nil)
        try #require(reply.status == 200, "\(reply.body)")
        #expect(reply.headers["Content-Type"]?.hasPrefix("text/plain; version=0.0.4") == true)
        for secret in ["ann", "desk", "the text", "62BC", "username"] {
            #expect(!reply.body.contains(secret), "\(secret)")
        }
        return try samples(reply.body)
    }

    @Test func `sign-ins, requests, notifications, payloads and what is stored are counted`() async throws {
        try await TestBackend.run {
            $0.figureInterval = .zero
            $0.serverMetrics = { "process_open_fds 7\n" }
        } _: { backend, _ in
            var app = RegisterClient(backend, .forgetting, as: "ann")
            try await app.register("62BCD348A0F1")
            let wrong = Data("ann:wrong password".utf8).base64EncodedString()
            let refused = try await backend.send(
                "POST",
                "/api/register",
                as: nil,
                headers: [("Authorization", "Basic \(wrong)")]
            )
            #expect(refused.status == 401)
            let login = try await backend.send("POST", "/api/login", as: "ann")
            #expect(login.status == 200)
            let stale = try await backend.send(
                "GET",
                "/api/notifications/1",
                as: nil,
                headers: [
                    ("Authorization", "Bearer \(String(repeating: "A", count: 43))")
                ]
            )
            #expect(stale.status == 401)
            let sent = try await backend.send(
                "POST",
                "/api/notifications?pns=stream&to_tag=ann",
                as: "desk",
                #""hello""#
            )
            #expect(sent.status == 200, "\(sent.body)")
            let pushed = try await backend.send("POST", "/api/notifications", as: "ann", #""the text""#)
            #expect(pushed.status == 200, "\(pushed.body)")
            let missed = try await backend.send("GET", "/api/notifications/0", as: "ann")
            #expect(missed.status == 404)
            let nothing = try await backend.send("GET", "/api/invented", as: "ann")
            #expect(nothing.status == 404)

            let before = try await samples(backend)
            #expect(before["newswire_backend_healthy"] == 1)
            #expect(before["process_open_fds"] == 7)
            func event(_ what: String, _ outcome: String) -> Double? {
                before[#"newswire_backend_events_total{event="\#(what)",outcome="\#(outcome)"}"#]
            }
            #expect(event("sign-in", "done") == 2)
            #expect(event("sign-in", "refused") == 1)
            #expect(event("token", "refused") == 1)
            #expect(event("payload sent", "done") == 1)
            #expect(event("payload fetched", "refused") == 1)
            func requests(_ route: String, _ status: Int) -> Double? {
                before[#"newswire_backend_requests_total{route="\#(route)",status="\#(status)"}"#]
            }
            #expect(requests("POST /api/register", 200) == 1)
            #expect(requests("POST /api/register", 401) == 1)
            #expect(requests("PUT /api/register/{id}", 200) == 1)
            #expect(requests("GET /api/notifications/{id}", 404) == 1)
            #expect(requests("none", 404) == 1)
            func notifications(_ platform: String, _ outcome: String) -> Double? {
                before[#"newswire_backend_notifications_total{platform="\#(platform)",outcome="\#(outcome)"}"#]
            }
            #expect(notifications("stream", "accepted") == 2)
            #expect(notifications("apns", "skipped") == 1, "the hub has no credentials")
            #expect(before["newswire_backend_password_checks"] != nil, "those of other tests count as well")
            #expect(before["newswire_backend_accounts"] == Double(TestBackend.senders.count + TestBackend.others.count))
            #expect(before["newswire_backend_tokens"] == 1)
            #expect(before[#"newswire_backend_devices{kind="registration"}"#] == 1)
            #expect(before[#"newswire_backend_devices{kind="installation"}"#] == 0)
            #expect(before[#"newswire_backend_payloads{state="waiting"}"#] == 1)
            #expect(before["newswire_backend_removed_users"] == 0)

            let id = try #require(
                try await backend.store.read { try Int64.fetchOne($0.database, sql: "SELECT id FROM payload") }
            )
            let fetched = try await backend.send("GET", "/api/notifications/\(id)", as: "ann")
            #expect(fetched.status == 200)
            let ann = try #require(UserName("ann"))
            let after = try await samples(backend)
            #expect(after[#"newswire_backend_payloads{state="waiting"}"#] == 0)
            #expect(after[#"newswire_backend_payloads{state="fetched"}"#] == 1)
            #expect(after[#"newswire_backend_events_total{event="payload fetched",outcome="done"}"#] == 1)
            try await Accounts(store: backend.store).remove(ann)
            let last = try await samples(backend)
            #expect(last["newswire_backend_removed_users"] == 1)
            #expect(last["newswire_backend_tokens"] == 0)
        }
    }

    @Test func `a database that cannot be read is not healthy, and the page comes all the same`() async throws {
        try await TestBackend.run {
            $0.figureInterval = .zero
        } _: { backend, _ in
            try await backend.store.write { try $0.database.execute(sql: "ALTER TABLE token RENAME TO lost") }
            let found = try await samples(backend)
            #expect(found["newswire_backend_healthy"] == 0)
            #expect(found["newswire_backend_accounts"] == nil)
            #expect(found["newswire_backend_password_checks"] != nil, "those of other tests count as well")
            let head = try await backend.send("HEAD", "/metrics", as: nil)
            #expect(head.status == 200 && head.body.isEmpty)
        }
    }

    @Test func `a hub's page has the metrics of its app backend once there are users`() async throws {
        try await MountedHub.run(hasUsers: false) { mounted in
            let early = try await mounted.send("GET", "/metrics")
            #expect(early.body.contains("newswire_writer_healthy 1\n"))
            #expect(!early.body.contains("newswire_backend_"))
        }
        try await MountedHub.run { mounted in
            _ = try await mounted.register("ann")
            let page = try samples(try await mounted.send("GET", "/metrics").body)
            #expect(page["newswire_backend_healthy"] == 1)
            #expect(page[#"newswire_backend_requests_total{route="PUT /api/register/{id}",status="200"}"#] == 1)
            #expect(
                page.keys.filter { $0.hasPrefix("newswire_http_responses_total") } == [],
                "no client has asked the hub"
            )
        }
    }
}
