import Certificates
import Foundation
import HostSystem
import HubProtocol
import HubStore
import NetworkAddresses
import OutboundHTTP
import SharedLog
import Testing

@testable import HubServer

/// Handing out keys and a database to one more node, for a code.
struct NodeAdmissionTests {
    private struct Stage {
        let hub: TestHub
        let folder: String
        let channel: MemoryChannel
        let http: OutboundClient
        /// Of the hub's certificate.
        let hash: [UInt8]

        /// Writes an invitation with a database of so many bytes.
        func invite(_ node: String = "b", bytes: Int = 700_000) throws -> PushChannelSecret {
            let secret = PushChannelSecret.random()
            let database = Data((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            try database.write(to: URL(filePath: NodeInvitation.database(in: folder)))
            let parcel = NodeInvitation.Parcel(
                node: node,
                stateFiles: ["secrets.key": "key\n"],
                logFiles: ["hub.key": "PEM"],
                settings: ["hub.pages": "public"],
                databaseBytes: bytes
            )
            try NodeInvitation(for: secret, at: Timestamp(hub.clock.now), parcel).write(in: folder)
            return secret
        }

        func post(
            _ secret: String,
            scheme: String = "https",
            hash given: [UInt8]? = nil
        ) async throws -> OutboundResponse {
            var request = OutboundRequest(
                method: "POST",
                url: "\(scheme)://127.0.0.1:\(hub.port)\(HubService.admissionPath)",
                body: Array(secret.utf8),
                maximumRedirects: 0,
                addresses: .any
            )
            request.publicKeyHash = given ?? hash
            return try await http.send(request)
        }

        var files: [String] {
            get throws {
                try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("node.invitation") }
            }
        }
    }

    private func run(_ body: (Stage) async throws -> Void) async throws {
        let scratch = try Scratch()
        let (log, channel) = (MemoryLog(incarnation: "log"), MemoryChannel())
        let names = ["elsewhere.example.org"].compactMap { HostName($0) }
        // TLS looks at its own clock.
        try await TestHub.run(
            scratch,
            log: log.node("a"),
            channel: channel.node("a"),
            clock: TestClock(Date()),
            configure: {
                $0.certificate = .local(LocalCertificates(directory: scratch.folder, names: names))
            },
            mounting: { [$0.nodeAdmission(in: scratch.folder)].compactMap(\.self) },
            { hub in
                let facts = try CertificateFacts.read("\(scratch.folder)/\(LocalCertificates.serverName)").facts
                let http = OutboundClient(userAgent: "test/1", maximumConnectionsPerHost: 16, proxies: .none)
                let stage = Stage(
                    hub: hub,
                    folder: scratch.folder,
                    channel: channel,
                    http: http,
                    hash: facts.publicKeyHash
                )
                let result: Result<Void, any Error>
                do { result = .success(try await body(stage)) } catch { result = .failure(error) }
                await http.shutdown()
                try result.get()
            }
        )
    }

    @Test func `of many who have a code one gets everything, and nothing is left`() async throws {
        try await run { stage in
            let secret = try stage.invite()
            let replies = try await withThrowingTaskGroup(of: OutboundResponse.self) { group in
                for _ in 0..<8 { group.addTask { try await stage.post(secret.text) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let (won, lost) = (replies.filter { $0.status == 200 }, replies.filter { $0.status == 403 })
            #expect(won.count == 1 && lost.count == 7)
            let body = try #require(won.first).body
            let end = try #require(body.firstIndex(of: UInt8(ascii: "\n")))
            let parcel = try JSONDecoder().decode(NodeInvitation.Parcel.self, from: Data(body[..<end]))
            #expect(parcel.node == "b" && parcel.stateFiles == ["secrets.key": "key\n"])
            #expect(parcel.logFiles == ["hub.key": "PEM"] && parcel.settings == ["hub.pages": "public"])
            #expect(body[(end + 1)...].elementsEqual((0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }))
            #expect(try stage.files.isEmpty)
        }
    }

    @Test func `a code is not taken by guesses, without TLS, or after an hour`() async throws {
        try await run { stage in
            let secret = try stage.invite()
            for guess in ["", "x", PushChannelSecret.random().text, String(secret.text.dropLast()), "{}"] {
                #expect(try await stage.post(guess).status == 403, "\(guess)")
            }
            #expect(try await stage.post(secret.text + "A").status == 413)
            #expect(try await stage.post(secret.text, scheme: "http").status == 400)
            #expect(try stage.files.isEmpty, "others on the network may have the code")
            #expect(try await stage.post(secret.text).status == 403)
            let late = try stage.invite()
            stage.hub.clock.advance(by: 3_600)
            #expect(try await stage.post(late.text).status == 403)
            #expect(try stage.files.isEmpty)
            // Nobody asks for this one.
            _ = try stage.invite()
            let admission = NodeAdmission(
                folder: stage.folder,
                others: try #require(stage.hub.service.served.others),
                now: { Timestamp(stage.hub.clock.now) },
                logger: .quiet
            )
            admission.removeExpired()
            #expect(try stage.files.count == 2)
            stage.hub.clock.advance(by: 3_600)
            admission.removeExpired()
            #expect(try stage.files.isEmpty)
            // A command that was killed, or a hub between the code and the copy, leaves a copy without a code.
            for end in ["", ".part", ".part-journal"] {
                let file = NodeInvitation.database(in: stage.folder) + end
                try Data("x".utf8).write(to: URL(filePath: file))
                if end.isEmpty { continue }
                let date = Date(timeIntervalSinceNow: -3_700)
                try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file)
            }
            admission.removeExpired()
            #expect(try stage.files == ["node.invitation.sqlite"], "it may still be written")
        }
    }

    @Test func `a server with another key gets no secret`() async throws {
        try await run { stage in
            let secret = try stage.invite()
            let error = await #expect(throws: OutboundError.self) {
                try await stage.post(secret.text, hash: [UInt8](repeating: 7, count: 32))
            }
            guard case .untrusted = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try await stage.post(secret.text).status == 200, "the hub has not seen it")
        }
    }

    @Test func `a name that a running node has is refused, and the code stays`() async throws {
        try await run { stage in
            let secret = try stage.invite("c")
            var bytes = EntryWriter()
            bytes.append(NodeMessages.Kind.presence)
            for text in ["c", "1"] { bytes.append(text: text) }
            bytes.append(number: 1)
            stage.channel.node("c").announce(bytes.bytes)
            await stage.channel.settle("a")
            #expect(try await stage.post(secret.text).status == 409)
            bytes.append(number: 1)
            bytes.append(1)
            stage.channel.node("c").announce(bytes.bytes)
            await stage.channel.settle("a")
            #expect(try await stage.post(secret.text).status == 200, "it has stopped")
        }
    }

    @Test func `codes are read as they were printed`() throws {
        let code = NodeCode(publicKeyHash: [UInt8](0..<32), secret: .random())
        #expect(NodeCode("\(code)") == code && "\(code)".utf8.count == 87)
        let text = "\(code)"
        for wrong in ["", ".", text + ".", String(text.dropFirst()), String(text.dropLast()), text + "A", " \(text)"] {
            #expect(NodeCode(wrong) == nil, "\(wrong)")
        }
    }
}
