import Foundation
import HubProtocol
import HubRouting
import Testing

@testable import HubServer

struct BadInputTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var method = "POST"
        var path = "messages"
        var headers: [String: String] = [:]
        var body = #"{"title":"t"}"#
        let status: Int
        var says = ""
    }

    static let cases = [
        Case(testDescription: "body that is no JSON", body: "hello", status: 400),
        Case(testDescription: "empty body", body: "", status: 400),
        Case(testDescription: "array", body: "[1]", status: 400),
        Case(testDescription: "nested property", body: #"{"a":{"b":"c"}}"#, status: 400, says: "'a'"),
        Case(testDescription: "huge body", body: #"{"a":"\#(String(repeating: "x", count: 70_000))"}"#, status: 413),
        Case(
            testDescription: "bad expression",
            headers: [HeaderName.tags: "World && && Sports"],
            status: 400,
            says: "9"
        ),
        Case(
            testDescription: "unknown format",
            headers: [HeaderName.format: "carrier-pigeon"],
            status: 400,
            says: "carrier-pigeon"
        ),
        Case(
            testDescription: "body of another format",
            headers: [HeaderName.format: "windows"],
            status: 400,
            says: "X-WNS-Type"
        ),
        Case(testDescription: "empty key", headers: [HeaderName.idempotencyKey: ""], status: 400),
        Case(
            testDescription: "long key",
            headers: [HeaderName.idempotencyKey: String(repeating: "k", count: 257)],
            status: 400
        ),
        Case(testDescription: "direct send to nobody", path: "messages?direct", status: 400, says: "names no handle"),
        Case(
            testDescription: "batch in one part",
            path: "messages/$batch?direct",
            status: 400,
            says: "multipart/mixed"
        ),
        Case(testDescription: "send to a message", path: "messages/x", status: 404, says: "$batch"),
        Case(testDescription: "no time", path: "schedulednotifications", status: 400, says: "is missing"),
        Case(
            testDescription: "a time that has passed",
            path: "schedulednotifications",
            headers: [HeaderName.scheduleTime: "2030-03-17T17:46:29Z"],
            status: 400,
            says: "has passed"
        ),
        Case(
            testDescription: "a time too far ahead",
            path: "schedulednotifications",
            headers: [HeaderName.scheduleTime: "2030-03-24T17:46:51Z"],
            status: 400,
            says: "7 days"
        ),
        Case(
            testDescription: "a message that is not scheduled",
            method: "DELETE",
            path: "schedulednotifications/x",
            status: 404,
            says: "'x'"
        ),
        Case(testDescription: "telemetry of nothing", method: "GET", path: "messages/x", status: 404, says: "72 h"),
        Case(testDescription: "no such hub", path: "/other/messages", status: 404, says: "'other'"),
        Case(testDescription: "refused hub name", path: "/api/messages", status: 404),
        Case(testDescription: "no such route", path: "massages", status: 404),
        Case(testDescription: "other method", method: "PUT", status: 404),
        Case(testDescription: "recipients of nonsense", path: "recipients", body: "{}", status: 400, says: "tags"),
        Case(
            testDescription: "recipients of a bad expression",
            path: "recipients",
            body: #"{"tags":"a ||"}"#,
            status: 400
        ),
        Case(testDescription: "bad installation", method: "PUT", path: "installations/x", body: "{", status: 400),
        Case(
            testDescription: "huge installation",
            method: "PUT",
            path: "installations/x",
            body: #"{"a":"\#(String(repeating: "x", count: 70_000))"}"#,
            status: 413
        ),
        Case(
            testDescription: "id with a space",
            method: "GET",
            path: "installations/a%20b",
            status: 404,
            says: "Installation not found"
        ),
        Case(testDescription: "DELETE of such an id", method: "DELETE", path: "installations/a%20b", status: 404),
        Case(
            testDescription: "PUT of such an id",
            method: "PUT",
            path: "installations/a%20b",
            body: #"{"installationId":"a b","platform":"gcm","pushChannel":"x"}"#,
            status: 400,
            says: "'a b'"
        ),
        Case(
            testDescription: "PATCH of such an id",
            method: "PATCH",
            path: "installations/a%20b",
            body: "[]",
            status: 400,
            says: "'a b'"
        ),
        Case(
            testDescription: "registration of a made-up form",
            method: "GET",
            path: "registrations/mine",
            status: 404,
            says: "Registration not found"
        ),
        Case(testDescription: "DELETE of such a one", method: "DELETE", path: "registrations/mine", status: 404),
        Case(
            testDescription: "PUT of such a one",
            method: "PUT",
            path: "registrations/mine",
            status: 400,
            says: "'mine' is not a registration id"
        ),
        Case(testDescription: "id of bad percent-encoding", method: "GET", path: "installations/a%zz", status: 400),
        Case(
            testDescription: "id of bad percent-encoding, stream",
            method: "GET",
            path: "installations/a%zz/stream",
            status: 400
        ),
        Case(
            testDescription: "id too long",
            method: "GET",
            path: "installations/\(String(repeating: "a", count: 121))",
            status: 404
        ),
        Case(testDescription: "patch of an object", method: "PATCH", path: "installations/x", body: "{}", status: 400),
        Case(
            testDescription: "poll without end",
            method: "GET",
            path: "installations/x/pending?wait=3600",
            status: 400,
            says: "60"
        ),
        Case(
            testDescription: "poll of words",
            method: "GET",
            path: "installations/x/pending?wait=soon",
            status: 400,
            says: "soon"
        ),
    ]

    @Test func `every bad request is refused in the protocol's form, saying what was wrong`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            for bad in Self.cases {
                let body = bad.method == "GET" ? "" : bad.body
                let reply = try await hub.send(bad.method, bad.path, as: hub.full, headers: bad.headers, body)
                #expect(reply.status == bad.status, "\(bad.testDescription): \(reply.body)")
                #expect(reply.error != nil, "\(bad.testDescription): \(reply.body)")
                #expect(
                    reply.error?.detail.contains(bad.says) ?? false || bad.says.isEmpty,
                    "\(bad.testDescription): \(reply.body)"
                )
                #expect(reply.headers["trackingid"] != nil, "\(bad.testDescription)")
                #expect(!reply.body.contains("\n"))
            }
            #expect(hub.head == 0, "nothing of it was kept")
            #expect(try await hub.post().status == 201)
        }
    }

    @Test func `bytes that are not HTTP are refused, and the hub goes on`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            for garbage in [
                "\u{16}\u{3}\u{1}\r\n\r\n", "GET\r\n\r\n",
                "GET /news/installations/a/stream HTTP/1.1\r\nbroken\r\n\r\n",
            ] {
                let connection = try await Connection.open(hub.port)
                try await connection.send(garbage)
                for await _ in connection.bytes {}
            }
            #expect(try await hub.send("GET", "/healthz", as: nil).status == 200)
        }
    }

    @Test(arguments: [
        "news/installations/a-B%3A%40", "NEWS/Installations/a-B:@", "news/installations/a-B%3a@/",
        "News/INSTALLATIONS/a-b:@?api-version=2015-01", "%6Eews/installations/a-B:@",
    ])
    func `an installation is found however its address is written`(path: String) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a-B:@")
            try await hub.register(agent)
            #expect(try await hub.send("GET", "/" + path, as: hub.listen, channel: agent.secret).status == 200)
            // The same as a stream, first on its connection and not.
            let stream = path.hasSuffix("/") ? path + "stream/" : path.replacing("?", with: "/stream?")
            let address = "/" + (stream == path ? path + "/stream" : stream)
            for first in [true, false] {
                let connection = try await Connection.open(hub.port)
                if !first { try await connection.send(hub.request("GET", "/healthz", as: nil)) }
                try await connection.send(hub.request("GET", address, as: hub.listen, channel: agent.secret))
                let reader = try await EventReader(connection, after: first ? 0 : 1)
                #expect(reader.head.headers["content-type"] == "text/event-stream", "\(first)")
            }
        }
    }

    @Test func `the refusal of a stream is an ordinary reply`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let refusal = await #expect(throws: EventReader.Refused.self) { _ = try await hub.stream(Agent("nobody")) }
            #expect(refusal?.reply.status == 404)
            #expect(refusal?.reply.error?.status == 404)
            #expect(refusal?.reply.headers["connection"] == "close")
        }
    }
}
