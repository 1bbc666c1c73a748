import Certificates
import Foundation
import HubProtocol
import HubRouting
import NIOCore
import NIOPosix
import NIOSSL
import NetworkAddresses
import OutboundHTTP
import StreamProbe
import Testing

import class HubTestServer.LogLines

@testable import HubServer

/// One port that speaks TLS, with a certificate of the hub's own authority, and plain HTTP beside it.
struct TLSTests {
    private static let names = ["localhost", "127.0.0.1", "::1"].compactMap { HostName($0) }

    private func run(
        _ scratch: Scratch,
        configure: (inout HubConfiguration) -> Void = { _ in },
        _ body: (TestHub) async throws -> Void
    ) async throws {
        // Clients look at their own clocks.
        try await TestHub.run(scratch, clock: TestClock(Date())) { configuration in
            configuration.certificate = .local(LocalCertificates(directory: scratch.folder, names: Self.names))
            configure(&configuration)
        } _: { hub in
            try await body(hub)
        }
    }

    private func authority(_ scratch: Scratch) -> String { LocalCertificates.authorityPath(in: scratch.folder) }

    /// A client that offers these protocols.
    private func client(_ scratch: Scratch, offering protocols: [String]) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(authority(scratch))
        configuration.applicationProtocols = protocols
        return try NIOSSLContext(configuration: configuration)
    }

    private func get(_ url: String, _ http: OutboundClient) async throws -> OutboundResponse {
        try await http.send(OutboundRequest(url: url, addresses: .any))
    }

    private func withHTTP(trusting authority: String?, _ body: (OutboundClient) async throws -> Void) async throws {
        let http = OutboundClient(userAgent: "test/1", certificateAuthorities: authority, proxies: .none)
        let result: Result<Void, any Error>
        do { result = .success(try await body(http)) } catch { result = .failure(error) }
        await http.shutdown()
        try result.get()
    }

    @Test func `our own client is served under every name, once it trusts the authority`() async throws {
        let scratch = try Scratch()
        try await run(scratch) { hub in
            try await withHTTP(trusting: authority(scratch)) { http in
                for host in ["localhost", "127.0.0.1", "LOCALHOST"] {
                    let reply = try await get("https://\(host):\(hub.port)/healthz", http)
                    #expect(reply.status == 200 && reply.body == Array("ok\n".utf8), "\(host)")
                }
                var send = OutboundRequest(
                    method: "POST",
                    url: "https://localhost:\(hub.port)/news/messages/?api-version=2020-06",
                    addresses: .any
                )
                send.headers = [("Authorization", hub.token(hub.full))]
                send.body = Array(#"{"title":"t"}"#.utf8)
                let reply = try await http.send(send)
                #expect(reply.status == 201)
                let prefix = "https://localhost:\(hub.port)/news/messages/"
                #expect(reply.headers["Location"]?.hasPrefix(prefix) == true)
                // Over HTTP/2 a refusal comes before the body's end, too.
                send.body = [UInt8](repeating: UInt8(ascii: "x"), count: 3 << 20)
                #expect(try await http.send(send).status == 413)
                send.body = Array(#"{"title":"t"}"#.utf8)
                #expect(try await http.send(send).status == 201)
            }
        }
    }

    @Test func `who does not trust the authority is not served, nor under another name`() async throws {
        let scratch = try Scratch()
        let other = try Scratch()
        try await run(scratch) { hub in
            _ = try LocalCertificates(directory: other.folder, names: Self.names).identity(at: Date())
            for trusted in [nil, authority(other)] {
                try await withHTTP(trusting: trusted) { http in
                    let error = await #expect(throws: OutboundError.self) {
                        _ = try await get("https://localhost:\(hub.port)/healthz", http)
                    }
                    guard case .untrusted = error else {
                        Issue.record("\(String(describing: error))")
                        return
                    }
                }
            }
            #expect(try await hub.send("GET", "/healthz", as: nil).status == 200)
        }
    }

    static let offers: [(offered: [String], speaks: String?)] = [
        (["h2", "http/1.1"], "h2"), (["http/1.1", "h2"], "h2"), (["h2"], "h2"), (["http/1.1"], "http/1.1"), ([], nil),
        (["spdy/9"], nil), (["spdy/9", "http/1.1"], "http/1.1"),
    ]

    @Test(arguments: offers)
    func `client and hub agree on a version, and without a word on 1 dot 1`(
        offered: [String],
        speaks: String?
    ) async throws {
        let scratch = try Scratch()
        try await run(scratch) { hub in
            let connection = try await Connection.open(hub.port, tls: try client(scratch, offering: offered))
            if speaks == "h2" {
                // The preface and empty settings; the hub's own settings are the first frame that comes back.
                let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0"
                try await connection.send(preface)
                var frame: [UInt8] = []
                for await bytes in connection.bytes {
                    frame += bytes
                    if frame.count >= 4 { break }
                }
                #expect(frame.count >= 4 && frame[3] == 4, "\(frame)")
            } else {
                try await connection.send(hub.request("GET", "/healthz", as: nil, headers: ["Connection": "close"]))
                #expect(try await connection.reply().body == "ok\n")
            }
        }
    }

    @Test func `an agent's stream comes over TLS, first on its connection and after another request`() async throws {
        let scratch = try Scratch()
        try await run(scratch) { hub in
            let agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            let request = hub.request("GET", "installations/a/stream", as: hub.listen, channel: agent.secret)
            for isFirst in [true, false] {
                let tls = try client(scratch, offering: ["http/1.1"])
                let connection = try await Connection.open(hub.port, tls: tls)
                if !isFirst { try await connection.send(hub.request("GET", "/healthz", as: nil)) }
                try await connection.send(request)
                let stream = try await EventReader(connection, after: isFirst ? 0 : 1)
                #expect(stream.head.isChunked != isFirst, "the first one has a bare connection")
                // More than one record of TLS, and more than a socket holds.
                let long = String(repeating: "x", count: 60_000)
                for number in 0..<20 { try await hub.accept("\(number)", tags: "World", message: long) }
                try await hub.accept("last")
                let titles = try await stream.titles(until: "last")
                #expect(titles.suffix(20) == (0..<20).map { "\($0)" }, "\(isFirst)")
                // That a client has gone in the middle of a body is noticed at the next heartbeat only.
                guard isFirst else { continue }
                try await connection.close()
                try await expectStreams(0, hub)
            }
        }
    }

    /// Waits until so many streams are open.
    private func expectStreams(_ count: Int, _ hub: TestHub) async throws {
        for _ in 0..<1_000 {
            let page = try await hub.send("GET", "/metrics", as: nil).body
            if page.contains("\nnewswire_streams{hub=\"news\"} \(count)\n") { return }
        }
        Issue.record("there are never \(count) streams")
    }

    @Test func `a stream over HTTP 2 goes through the ordinary route`() async throws {
        let scratch = try Scratch()
        try await run(scratch) { hub in
            let agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            try await hub.accept("news", tags: "World")
            try await withHTTP(trusting: authority(scratch)) { http in
                var request = OutboundRequest(
                    url: "https://localhost:\(hub.port)/news/installations/a/stream",
                    addresses: .any
                )
                request.headers = [
                    ("Authorization", hub.token(hub.listen)), (HeaderName.pushChannel, agent.secret.text),
                ]
                // Collects the whole reply, which ends with the installation.
                let asked = request
                let stream = Task { try await http.send(asked) }
                try await expectStreams(1, hub)
                let deleted = try await hub.send("DELETE", "installations/a", as: hub.full)
                #expect(deleted.status == 204)
                let reply = try await stream.value
                let text = String(decoding: reply.body, as: UTF8.self)
                #expect(reply.status == 200)
                #expect(reply.headers["Content-Type"] == "text/event-stream")
                #expect(text.contains(#"news"#) && text.contains("event: revoked"), "\(text)")
                request.url = "https://localhost:\(hub.port)/news/installations/nobody/stream"
                #expect(try await http.send(request).status == 404)
            }
        }
    }

    @Test func `plain HTTP is spoken beside TLS on the way to this machine`() async throws {
        let scratch = try Scratch()
        try await run(scratch) { hub in
            #expect(try await hub.post().status == 201)
            let agent = Agent("a")
            try await hub.register(agent)
            let stream = try await hub.stream(agent)
            #expect(stream.head.headers["connection"] == "close", "it has a bare connection")
        }
    }

    /// An address of this machine that others reach, if it has one.
    private static let outside: String? = {
        let devices = (try? System.enumerateDevices()) ?? []
        return devices.lazy.compactMap(\.address?.ipAddress).first { $0.contains(".") && !$0.hasPrefix("127.") }
    }()

    @Test(.enabled(if: outside != nil))
    func `a hub that listens on an address of its own still serves this machine over plain HTTP`() async throws {
        let outside = try #require(Self.outside)
        // A port that is free there may be another test's here.
        for attempt in 1...10 {
            do {
                return try await serveOutside(outside)
            } catch let error as HubListenError where attempt < 10 {
                #expect(error.cause == .port)
            }
        }
    }

    private func serveOutside(_ outside: String) async throws {
        let scratch = try Scratch()
        try await run(scratch) {
            $0.host = outside
        } _: { hub in
            // On 127.0.0.1.
            #expect(try await hub.post().status == 201)
            let refused = try await Connection.open(hub.port, host: outside)
            try await refused.send(hub.request("GET", "/healthz", as: nil))
            let reply = try await refused.reply()
            #expect(reply.status == 400 && reply.body.contains("This port requires HTTPS"))
            let tls = try await Connection.open(hub.port, host: outside, tls: try client(scratch, offering: []))
            try await tls.send(hub.request("GET", "/healthz", as: nil, headers: ["Connection": "close"]))
            #expect(try await tls.reply().status == 200)
        }
    }

    @Test func `new connections are shown a new certificate, and old ones go on`() async throws {
        let scratch = try Scratch()
        let (first, second) = (try Scratch(), try Scratch())
        let files = CertificateFiles(certificate: "\(scratch.folder)/chain.pem", key: "\(scratch.folder)/key.pem")
        try write(first, to: files)
        try await run(scratch) {
            $0.certificate = .files(files)
        } _: { hub in
            let tls = try #require(hub.service.tls)
            let old = try await Connection.open(hub.port, tls: try client(first, offering: []))
            try await old.send(hub.request("GET", "/healthz", as: nil))
            try write(second, to: files)
            tls.look()
            try await withHTTP(trusting: authority(second)) { http in
                let reply = try await get("https://localhost:\(hub.port)/healthz", http)
                #expect(reply.status == 200)
            }
            try await old.send(hub.request("GET", "/healthz", as: nil, headers: ["Connection": "close"]))
            #expect(try await old.reply(after: 1).status == 200)
        }
    }

    private func write(_ from: Scratch, to files: CertificateFiles) throws {
        let identity = try LocalCertificates(directory: from.folder, names: Self.names).identity(at: Date())
        try identity.chain.write(toFile: files.certificate, atomically: true, encoding: .utf8)
        try identity.privateKey.write(toFile: files.key, atomically: true, encoding: .utf8)
    }

    @Test func `connections have their certificate while the files are looked at`() throws {
        let scratch = try Scratch()
        let (keeper, seen) = (Kept<CertificateReloader?>(nil), Kept<Int>(0))
        let local = LocalCertificates(directory: scratch.folder, names: Self.names)
        let tls = try CertificateReloader(
            .local(local),
            now: {
                // In the middle of a look.
                if keeper.value?.context != nil { seen.change { $0 += 1 } }
                return Date()
            },
            logger: .quiet
        )
        keeper.change { $0 = tls }
        tls.look()
        #expect(seen.value == 1)
        keeper.change { $0 = nil }
    }

    @Test func `a certificate that TLS refuses is reported once, and is tried again`() throws {
        let scratch = try Scratch()
        let (first, second) = (try Scratch(), try Scratch())
        let files = CertificateFiles(certificate: "\(scratch.folder)/chain.pem", key: "\(scratch.folder)/key.pem")
        try write(first, to: files)
        let (lines, refuses) = (LogLines(), Kept(false))
        let tls = try CertificateReloader(.files(files), now: { Date() }, logger: lines.logger) { identity in
            if refuses.value { throw JobFailure("TLS does not like it") }
            return try CertificateReloader.context(identity)
        }
        let former = tls.context
        try write(second, to: files)
        refuses.change { $0 = true }
        for _ in 0..<5 { tls.look() }
        #expect(tls.context === former)
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains("TLS does not like it") == true)
        refuses.change { $0 = false }
        tls.look()
        #expect(tls.context !== former)
    }

    @Test func `an authority that ends with its last certificate is reported at the start`() throws {
        let scratch = try Scratch()
        let local = LocalCertificates(directory: scratch.folder, names: Self.names)
        let lines = LogLines()
        _ = try CertificateReloader(.local(local), now: { Date() }, logger: lines.logger)
        #expect(lines.all.isEmpty)
        let late = Date() + CertificateAuthority.lifetime - 100 * 86_400
        _ = try CertificateReloader(.local(local), now: { late }, logger: lines.logger)
        #expect(lines.all.count == 1 && lines.all[0].hasPrefix("warning the authority of the TLS certificate expires"))
    }

    @Test func `a broken file leaves the former certificate in force, and is reported once`() throws {
        let scratch = try Scratch()
        let identity = try LocalCertificates(directory: scratch.folder, names: Self.names).identity(at: Date())
        let files = CertificateFiles(certificate: "\(scratch.folder)/chain.pem", key: "\(scratch.folder)/key.pem")
        func write(_ chain: String) throws {
            try chain.write(toFile: files.certificate, atomically: true, encoding: .utf8)
            try identity.privateKey.write(toFile: files.key, atomically: true, encoding: .utf8)
        }
        let lines = LogLines()
        #expect(throws: CertificateProblem.self) {
            _ = try CertificateReloader(.files(files), now: { Date() }, logger: lines.logger)
        }
        try write(identity.chain)
        let tls = try CertificateReloader(.files(files), now: { Date() }, logger: lines.logger)
        let former = tls.context
        try write("broken")
        // The first look may have come between the two files.
        tls.look()
        #expect(lines.all.isEmpty)
        for _ in 0..<5 { tls.look() }
        #expect(tls.context === former)
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.hasPrefix("error ") == true)
        #expect(lines.all.first?.contains("chain.pem': there is no certificate in it") == true)
        try write(identity.chain)
        tls.look()
        #expect(tls.context !== former)
        #expect(lines.all.count == 2 && lines.all.last?.hasPrefix("notice ") == true)
    }
}
