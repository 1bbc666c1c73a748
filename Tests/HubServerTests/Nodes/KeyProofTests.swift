import Certificates
import Foundation
import HubProtocol
import HubRouting
import NetworkAddresses
import SharedLog
import Testing

import class HubTestServer.LogLines

@testable import HubServer
@testable import HubStore

/// The key and the authority that the nodes of a log have in common.
struct KeyProofTests {
    private let log = MemoryLog(incarnation: "log")
    private let channel = MemoryChannel()

    private func run(
        _ scratch: Scratch,
        _ node: String,
        key: String,
        certificate: CertificateSource? = nil,
        logger: LogLines = LogLines(),
        _ body: (TestHub) async throws -> Void = { _ in }
    ) async throws {
        func configure(_ configuration: inout HubConfiguration) {
            configuration.secretsPath = key
            configuration.certificate = certificate
            configuration.leaseInterval = .seconds(3_600)
            configuration.presenceInterval = .seconds(3_600)
        }
        try await TestHub.run(
            scratch,
            log: log.node(node),
            channel: channel.node(node),
            logger: logger.logger,
            configure: configure,
            body
        )
    }

    @Test func `a node without the key and the authority of the others does not join, and makes neither`() async throws
    {
        let (first, second) = (try Scratch(), try Scratch())
        try await run(first, "a", key: first.folder + "/secrets.key")
        let key = second.folder + "/secrets.key"
        let names = [try #require(HostName("localhost"))]
        let certificate = CertificateSource.local(LocalCertificates(directory: second.folder, names: names))
        let authority = second.folder + "/ca.pem"
        let both = NodeRefusal.missingFiles([key, authority])
        await #expect(throws: both) { try await run(second, "b", key: key, certificate: certificate) }
        await #expect(throws: NodeRefusal.missingFiles([key])) { try await run(second, "b", key: key) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: second.folder).isEmpty)
        #expect("\(both)".contains("'\(key)' and '\(authority)'"))
        #expect(HubLogFile.problem(both)?.isTemporary == false, "exit 78")
        try FileManager.default.copyItem(atPath: first.folder + "/secrets.key", toPath: key)
        await #expect(throws: NodeRefusal.missingFiles([authority])) {
            try await run(second, "b", key: key, certificate: certificate)
        }
        try await run(second, "b", key: key)
    }

    @Test func `a node with another key than the others does not join`() async throws {
        let (first, second) = (try Scratch(), try Scratch())
        try await run(first, "a", key: first.folder + "/secrets.key")
        let key = second.folder + "/secrets.key"
        _ = try SecretsFile(path: key).box()
        let refusal = NodeRefusal.otherKey(path: key)
        await #expect(throws: refusal) { try await run(second, "b", key: key) }
        #expect(HubLogFile.problem(refusal)?.isTemporary == false, "exit 78")
        let database = first.path
        #expect(KeyProof.problem(in: database, secrets: key) == "\(refusal)", "before the start")
        #expect(KeyProof.problem(in: database, secrets: first.folder + "/secrets.key") == nil)
        #expect(KeyProof.problem(in: first.folder + "/none", secrets: key) == nil)
        // It is not the key of the database either that a later start would find.
        await #expect(throws: refusal) { try await run(second, "b", key: key) }
    }

    @Test func `a node that fails a proof which is added later takes no duties, and refuses at its next start`()
        async throws
    {
        let (first, second, lines) = (try Scratch(), try Scratch(), LogLines())
        let (key, other) = (first.folder + "/secrets.key", second.folder + "/secrets.key")
        _ = try SecretsFile(path: other).box()
        try await run(first, "a", key: key) { a in
            // As before the log had a proof: a credential that only the right key opens.
            try await a.hub.perform { transaction, _ in
                guard var stored = try transaction.hub(id: a.hub.record.id) else { throw TestHub.Stopped() }
                stored.description.credentials = [ScriptedHub.credential]
                try transaction.update(stored)
                try transaction.execute("DELETE FROM keyProof", [])
                return ((), [PolicyEffect(stored.policy)])
            }
        }
        try await run(second, "b", key: other, logger: lines) { b in
            await b.keepLease()
            #expect(b.service.lease.current != nil)
            #expect(try await b.hub.store.keyProof() == nil, "a node that cannot decrypt credentials proves nothing")
            try await run(first, "a", key: key) { a in
                try await b.service.catchUp()
                await b.keepLease()
                #expect(b.service.lease.current == nil && b.service.lease.term == nil)
                try await a.service.catchUp()
                await a.keepLease()
                #expect(a.service.lease.current != nil)
                let warnings = lines.all.filter { $0.hasPrefix("warning this node takes no duties") }
                #expect(warnings.count == 1 && warnings.allSatisfy { $0.contains("secrets.key is not that of") })
                let reply = try await b.send("GET", "overview", as: b.full)
                let node = try JSONDecoder().decode(HubOverview.self, from: Data(reply.body.utf8)).node
                #expect(node?.dutyObstacle?.contains("secrets.key") == true)
                #expect(try await b.post(["title": "served"]).status == 201)
            }
        }
        await #expect(throws: NodeRefusal.otherKey(path: other)) { try await run(second, "b", key: other) }
    }

    @Test func `a hub with one node has no proof, and one that begins another log proves its key anew`() async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { hub in
            let proof = try await hub.hub.store.keyProof()
            #expect(proof == nil)
        }
        try await run(scratch, "a", key: scratch.folder + "/secrets.key") { hub in
            let proof = try await hub.hub.store.keyProof()
            #expect(proof != nil)
        }
        for change in [
            { try LogMembership.begin(scratch.path, incarnation: "x", at: 0) }, { try LogMembership.end(scratch.path) },
        ] {
            try change()
            let store = try HubStore(path: scratch.path, log: MemoryLog(incarnation: "x").node("a"))
            #expect(try await store.keyProof() == nil)
            try store.close()
        }
    }
}
