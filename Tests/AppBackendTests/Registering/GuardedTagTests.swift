import Formats
import Foundation
import HubClient
import HubProtocol
import OutboundHTTP
import Testing

@testable import AppBackend

/// What users must not choose: the back end holds Manage, so nobody behind it checks.
@Suite struct GuardedTagTests {
    static let reserved = [
        "username:bob", "USERNAME:bob", "u\u{17F}ername:bob", "username:", "from:bob", "From:x",
        "$UserId:{bob}", "$userid:{bob}", "$InstallationId:{x}", "$anything",
    ]

    private static func quoted(_ text: String) -> String { JSONText(text).text }

    @Test(arguments: reserved)
    func `a registration takes no tag that the server assigns`(tag: String) async throws {
        try await TestBackend.run { backend, hub in
            let id = try await backend.send("POST", "/api/register", as: "ann").body.dropFirst().dropLast()
            let body = #"{"Platform":"apns","Handle":"AA","Tags":["World",\#(Self.quoted(tag))]}"#
            let reply = try await backend.send("PUT", "/api/register/\(id)", as: "ann", body)
            #expect(reply.status == 400 && reply.body.contains("error"), "\(reply.body)")
            #expect(try await hub.registrations().isEmpty)
        }
    }

    @Test(arguments: reserved)
    func `an installation takes no such tag, wherever it stands`(tag: String) async throws {
        try await TestBackend.run { backend, hub in
            let tag = Self.quoted(tag)
            let template = #"{"body":"<toast/>","headers":{"X-WNS-Type":"wns/toast"},"tags":[\#(tag)]}"#
            let plain = #"{"body":"<toast/>","headers":{"X-WNS-Type":"wns/toast"}}"#
            let tile = #"{"pushChannel":"https://x.example/t","#
            for member in [
                #""tags":[\#(tag)]"#, #""templates":{"t":\#(template)}"#, #""templates":{\#(tag):\#(plain)}"#,
                #""secondaryTiles":{"s":\#(tile)"tags":[\#(tag)]}}"#,
                #""secondaryTiles":{"s":\#(tile)"templates":{"t":\#(template)}}}"#,
                #""secondaryTiles":{"s":\#(tile)"templates":{\#(tag):\#(plain)}}}"#,
            ] {
                let body =
                    #"{"installationId":"i","platform":"wns","pushChannel":"https://x.example/c",\#(member)}"#
                let reply = try await backend.send("PUT", "/api/installations/i", as: "ann", body)
                #expect(reply.status == 400, "\(member): \(reply.body)")
            }
            #expect(try await hub.registrations().isEmpty)
        }
    }

    @Test(arguments: [
        #""userId":"bob""#, #""userId":"ann""#,
        #""templates":{"x,username:bob":{"body":"<toast/>","headers":{"X-WNS-Type":"wns/toast"}}}"#,
        #""templates":{"x, $UserId:{bob}":{"body":"<toast/>","headers":{"X-WNS-Type":"wns/toast"}}}"#,
    ])
    func `an installation names no user`(member: String) async throws {
        try await TestBackend.run { backend, hub in
            let body = #"{"installationId":"i","platform":"wns","pushChannel":"https://x.example/c",\#(member)}"#
            let reply = try await backend.send("PUT", "/api/installations/i", as: "ann", body)
            #expect(reply.status == 400, "\(reply.body)")
            #expect(try await hub.registrations().isEmpty)
        }
    }

    @Test func `prefixes that the operator reserves are guarded`() async throws {
        try await TestBackend.run {
            if let prefixes = try? ReservedTagPrefixes(["team-"]) { $0.reservedTags = prefixes }
        } _: { backend, _ in
            for (tag, status) in [("TEAM-red", 400), ("from:x", 200), ("UserName:bob", 400)] {
                let id = try await backend.send("POST", "/api/register", as: "ann").body.dropFirst().dropLast()
                let body = #"{"Platform":"apns","Handle":"AA","Tags":["\#(tag)"]}"#
                #expect(try await backend.send("PUT", "/api/register/\(id)", as: "ann", body).status == status)
            }
        }
    }

    @Test(arguments: [
        ("", 400), ("{", 400), ("[]", 400), ("{}", 400), (#"{"Platform":"apns"}"#, 400),
        (#"{"Platform":"apns","Handle":"AA","Tags":"World"}"#, 400),
        (#"{"Platform":"apns","Handle":"AA","Tags":[1]}"#, 400),
        (#"{"Platform":"apns","Handle":"AA","Tags":["a b"]}"#, 400),
        (#"{"Platform":"apns","Handle":"AA","Tags":["a,username:bob"]}"#, 400),
        (#"{"Platform":"apns","Handle":"AXX"}"#, 400), (#"{"Platform":"apns","Handle":""}"#, 400),
        (#"{"Platform":"apns","Handle":7}"#, 400), (#"{"Platform":"wns","Handle":"no address"}"#, 400),
        (#"{"Platform":"browser","Handle":"https://x.example/"}"#, 400),
        (#"{"Platform":"stream","Handle":"AA"}"#, 400), (#"{"Platform":"nokia","Handle":"AA"}"#, 400),
        (#"{"Platform":"apns","platform":"gcm","Handle":"AA"}"#, 400),
        (#"{"Platform":"apns","Handle":"AA","Tags":null}"#, 200),
    ])
    func `a body that is not a registration is refused with a reason, and the hub is not asked`(
        body: String,
        status: Int
    ) async throws {
        try await TestBackend.run { backend, hub in
            let id = try await backend.send("POST", "/api/register", as: "ann").body.dropFirst().dropLast()
            let reply = try await backend.send("PUT", "/api/register/\(id)", as: "ann", body)
            #expect(reply.status == status, "\(reply.body)")
            if status == 400 {
                #expect(reply.body.hasPrefix(#"{"error":""#) && reply.headers["Content-Type"]?.contains("json") == true)
                #expect(try await hub.registrations().isEmpty)
            }
        }
    }

    @Test func `more tags than the hub takes, with the server's own, are refused here`() async throws {
        try await TestBackend.run { backend, hub in
            let tags = (0..<Installation.maximumTags).map { "\"t\($0)\"" }
            let id = try await backend.send("POST", "/api/register", as: "ann").body.dropFirst().dropLast()
            for (count, status) in [(tags.count, 400), (tags.count - 1, 200)] {
                let list = tags.prefix(count).joined(separator: ",")
                let body = #"{"Platform":"apns","Handle":"AA","Tags":[\#(list)]}"#
                let reply = try await backend.send("PUT", "/api/register/\(id)", as: "ann", body)
                #expect(reply.status == status, "\(reply.body)")
                let whole = #"{"installationId":"i","platform":"apns","pushChannel":"AB","tags":[\#(list)]}"#
                let other = try await backend.send("PUT", "/api/installations/i", as: "ann", whole)
                #expect(other.status == status, "\(other.body)")
            }
            #expect(try await hub.registrations().count == 2)
        }
    }

    @Test func `a body that is too large, and a query that says two things, are refused`() async throws {
        try await TestBackend.run { backend, _ in
            let long = String(repeating: "x", count: WantedRegistration.maximumBytes)
            let reply = try await backend.send("PUT", "/api/register/1-1-1", as: "ann", long + "x")
            #expect(reply.status == 413)
            #expect(try await backend.send("PUT", "/api/installations/i", as: "ann", long + "x").status == 413)
            for target in ["/api/register?handle=AA&handle=BB", "/api/register?handle=%G0", "/api/register?handle={"] {
                #expect(try await backend.send("POST", target, as: "ann").status == 400, "\(target)")
            }
        }
    }
}
