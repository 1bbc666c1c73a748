import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Testing

@testable import HubServer

struct TokenTests {
    private struct Case {
        let name: String
        let header: String?
        /// What the detail begins with; `nil` when the request is let in.
        let refusal: String?
    }

    @Test func `a token is judged with its reason`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let valid = hub.token(hub.full)
            let cases = [
                Case(name: "good", header: valid, refusal: nil),
                Case(name: "secondary key", header: hub.token(hub.full, key: hub.full.secondaryKey), refusal: nil),
                Case(name: "whole server", header: hub.token(hub.full, resource: "sb://other.host/"), refusal: nil),
                Case(
                    name: "this operation",
                    header: hub.token(hub.full, resource: "http://h:1/NEWS/messages/?a=b"),
                    refusal: nil
                ),
                Case(name: "a little late", header: hub.token(hub.full, expiresIn: -30), refusal: nil),
                Case(name: "none", header: nil, refusal: "MissingToken"),
                Case(name: "empty", header: "", refusal: "MissingToken"),
                Case(name: "other scheme", header: "Bearer abc", refusal: "MissingToken"),
                Case(name: "malformed", header: "SharedAccessSignature sr=x&sig=y", refusal: "MalformedToken"),
                Case(name: "twice", header: valid + "&se=1", refusal: "MalformedToken"),
                Case(name: "expired", header: hub.token(hub.full, expiresIn: -3_600), refusal: "ExpiredToken"),
                Case(
                    name: "wrong key",
                    header: hub.token(hub.full, key: hub.listen.primaryKey),
                    refusal: "InvalidSignature"
                ),
                Case(
                    name: "unknown rule",
                    header: hub.token(AccessRule.generated(name: "Nobody", rights: .manage)),
                    refusal: "InvalidSignature"
                ),
                Case(
                    name: "expiry changed",
                    header: valid.replacing("se=", with: "se=9"),
                    refusal: "InvalidSignature"
                ),
                Case(
                    name: "other hub",
                    header: hub.token(hub.full, resource: "http://h/other"),
                    refusal: "InvalidAudience"
                ),
                Case(
                    name: "prefix of a name",
                    header: hub.token(hub.full, resource: "http://h/new"),
                    refusal: "InvalidAudience"
                ),
                Case(
                    name: "other operation",
                    header: hub.token(hub.full, resource: "http://h/news/categories"),
                    refusal: "InvalidAudience"
                ),
                Case(name: "lacking the right", header: hub.token(hub.listen), refusal: "Send claim is required"),
            ]
            for known in cases {
                let headers = known.header.map { ["Authorization": $0] } ?? [:]
                let reply = try await hub.send("POST", "messages", as: nil, headers: headers, #"{"title":"t"}"#)
                #expect(reply.status == (known.refusal == nil ? 201 : 401), "\(known.name): \(reply.body)")
                guard let refusal = known.refusal else { continue }
                #expect(reply.error?.detail.hasPrefix(refusal) == true, "\(known.name): \(reply.body)")
            }
        }
    }

    @Test func `a token that was right before is judged anew`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            func ask(_ token: String, _ path: String = "categories") async throws -> Reply {
                try await hub.send("GET", path, as: nil, headers: ["Authorization": token])
            }
            let short = hub.token(hub.listen, resource: "http://h/news/categories", expiresIn: 60)
            let long = hub.token(hub.listen)
            for token in [short, long] { #expect(try await ask(token).status == 200) }
            #expect(try await ask(short, "installations/a").body.contains("InvalidAudience"))
            #expect(try await ask(long, "registrations").body.contains("claim is required"))
            #expect(try await ask(short.replacing("&sig=", with: "&sig=A")).body.contains("InvalidSignature"))
            clock.advance(by: 600)
            #expect(try await ask(short).body.contains("ExpiredToken"))
            #expect(try await ask(long).status == 200)

            let rule = AccessRule(name: hub.listen.name, primaryKey: "new", secondaryKey: "newer", rights: .listen)
            let id = hub.hub.record.id
            _ = try await hub.hub.store.commit([
                { @Sendable in try $0.put(rule, hub: id, at: Timestamp(hub.clock.now)) }
            ])
            try await hub.service.housekeeping.lookAtRules()
            await hub.hub.writer.passInOrder()
            #expect(try await ask(long).body.contains("InvalidSignature"))
            #expect(try await ask(hub.token(rule)).status == 200)
        }
    }

    @Test func `every route wants its right, on both ways into a stream`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let send = AccessRule.generated(name: "Send", rights: .send)
            let id = hub.hub.record.id
            _ = try await hub.hub.store.commit([
                { @Sendable in try $0.put(send, hub: id, at: Timestamp(hub.clock.now)) }
            ])
            try await hub.service.housekeeping.lookAtRules()
            await hub.hub.writer.passInOrder()
            for route in RouteTable.routes {
                let method = route.method.rawValue
                let path = route.address.replacing(":hub", with: "news").replacing(":id", with: "x")
                    .replacing(":publisher", with: "p")
                for isSecond in [false, true] {
                    func ask(as rule: AccessRule?) async throws -> Reply {
                        isSecond
                            ? try await hub.sendSecond(method, path, as: rule)
                            : try await hub.send(method, path, as: rule)
                    }
                    let place = "\(method) \(path) as the \(isSecond ? "second" : "first") request"
                    let without = try await ask(as: nil)
                    #expect(without.status == 401 && without.body.contains("MissingToken"), "\(place)")
                    for wrong in [send, hub.listen] where !wrong.rights.grants(route.right) {
                        let reply = try await ask(as: wrong)
                        let says = route.scope == .hub ? "claim is required" : "InvalidSignature"
                        #expect(reply.status == 401 && reply.body.contains(says), "\(place)")
                    }
                }
            }
        }
    }
}
