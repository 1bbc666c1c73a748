import Certificates
import Foundation
import HubStore
import HubTestServer
import NetworkAddresses
import Testing

@testable import ReplicatedLog

/// What servers of several kinds say, and how a node takes it.
@Suite(.enabled(if: LogServers.program != nil, LogServers.reason))
struct ServerTests {
    private func server(_ text: String) throws -> LogServer { try #require(LogServer(text)) }

    @Test func `a server is checked with the authority, and by name`() async throws {
        let folder = try ScratchFolder()
        let certificates = LocalCertificates(directory: folder.path, names: [try #require(HostName("localhost"))])
        _ = try certificates.identity(at: Date())
        let pem = folder.file(LocalCertificates.serverName)
        let servers = try await LogServers(settings: "tls { cert_file: \"\(pem)\", key_file: \"\(pem)\" }")
        let port = servers.servers[0].port
        let (named, other) = (try server("tls://localhost:\(port)"), try server("tls://127.0.0.1:\(port)"))
        let authority = LocalCertificates.authorityPath(in: folder.path)
        let node = try await servers.node {
            $0.servers = [named]
            $0.authority = authority
        }
        #expect(try await node.grow(after: .beginning).number == 1)
        for (server, authority) in [(named, nil), (other, authority)] as [(LogServer, String?)] {
            let error = await #expect(throws: ReplicatedLogError.self) {
                try await servers.node("b") {
                    $0.servers = [server]
                    $0.authority = authority
                }
            }
            #expect(error?.isTemporary == false, "\(server): \(String(describing: error))")
            #expect("\(try #require(error))".hasPrefix("a server of the log refuses this node: TLS: "))
        }
    }

    @Test func `a server that wants a certificate takes the one that it knows`() async throws {
        let folder = try ScratchFolder()
        let certificates = LocalCertificates(directory: folder.path, names: [try #require(HostName("localhost"))])
        _ = try certificates.identity(at: Date())
        let pem = folder.file(LocalCertificates.serverName)
        let (known, strange) = (try NodeCertificate(in: folder, "known"), try NodeCertificate(in: folder, "strange"))
        let servers = try await LogServers(
            settings: "tls { cert_file: \"\(pem)\", key_file: \"\(pem)\", ca_file: \"\(known.path)\", verify: true }"
        )
        let address = try server("tls://localhost:\(servers.servers[0].port)")
        func join(_ certificate: NodeCertificate?) async throws -> ReplicatedLog {
            try await servers.node {
                $0.servers = [address]
                $0.authority = LocalCertificates.authorityPath(in: folder.path)
                ($0.certificate, $0.key) = (certificate?.path, certificate?.keyPath)
            }
        }
        #expect(try await join(known).grow(after: .beginning).number == 1)
        for certificate in [nil, strange] {
            let error = await #expect(throws: ReplicatedLogError.self) { try await join(certificate) }
            #expect("\(try #require(error))".contains("check 'log-certificate' (\(address))"))
            #expect(error?.isTemporary == false)
        }
    }

    @Test func `a server that wants credentials refuses a node without`() async throws {
        let servers = try await LogServers(settings: "authorization { user: a, password: b }")
        let error = await #expect(throws: ReplicatedLogError.self) { try await servers.node() }
        #expect("\(try #require(error))".hasPrefix("a server of the log refuses this node: "))
        #expect(error?.isTemporary == false)
    }

    @Test func `credentials of an account open its log, and those of another operator do not`() async throws {
        let folder = try ScratchFolder()
        let (accounts, otherAccounts) = (LogAccounts(), LogAccounts())
        let (own, strange) = (folder.file("own.creds"), folder.file("strange.creds"))
        try accounts.writeCredentials(to: own)
        try otherAccounts.writeCredentials(to: strange)
        let servers = try await LogServers(settings: try accounts.settings())
        let node = try await servers.node { $0.credentials = own }
        #expect(try await node.grow(after: .beginning).number == 1)
        for file in [nil, strange] {
            let error = await #expect(throws: ReplicatedLogError.self) {
                try await servers.node("b") { $0.credentials = file }
            }
            #expect("\(try #require(error))".hasPrefix("a server of the log refuses this node: "))
            #expect(error?.isTemporary == false)
        }
    }

    @Test func `settings that would send keys in clear, or do not go together, are refused`() async throws {
        var configuration = ReplicatedLogConfiguration(servers: [], name: "test", node: "a")
        func problem() async throws -> String {
            let error = await #expect(throws: ReplicatedLogError.self) {
                try await ReplicatedLog.connect(configuration, logger: .quiet)
            }
            return "\(try #require(error))"
        }
        #expect(try await problem().contains("at least one server"))
        configuration.servers = [try server("nats://192.0.2.1:4222")]
        #expect(try await problem().contains("write 'tls://192.0.2.1:4222' instead of 'nats://192.0.2.1:4222'"))
        configuration.servers = [try server("nats://localhost"), try server("tls://log2.example.org")]
        #expect(try await problem().contains("use TLS for all of them"))
        configuration.servers = [try server("nats://localhost")]
        configuration.authority = "/ca.pem"
        #expect(try await problem().contains("no server of the log has an address that begins with 'tls://'"))
        configuration.servers = [try server("tls://localhost")]
        #expect(try await problem().contains("cannot use the authorities in '/ca.pem' for the log: "))
        configuration.authority = nil
        configuration.certificate = "/node.pem"
        #expect(try await problem().contains("set both, or neither"))
        configuration.certificate = nil
        configuration.credentials = "/missing.creds"
        #expect(try await problem().contains("the credentials '/missing.creds' do not exist"))
    }

    @Test func `a server that is away is waited for`() async throws {
        let servers = try await LogServers()
        let configuration = try servers.configuration()
        await servers.servers[0].end()
        async let node = ReplicatedLog.connect(configuration, logger: .quiet)
        try await servers.servers[0].start()
        #expect(try await node.end() == 0)
        await servers.servers[0].end()
        let error = await #expect(throws: ReplicatedLogError.self) {
            try await servers.node("b") { $0.startPatience = .milliseconds(500) }
        }
        #expect(error?.isTemporary == true)
    }

    @Test func `check finds what is wrong with the servers`() async throws {
        let servers = try await LogServers(3)
        let configuration = try servers.configuration()
        // The servers have a leader when they have made a log.
        _ = try await servers.node { $0.name = "other" }
        let new = try await EngineCheck.run(configuration)
        #expect(new.problems == [])
        #expect(new.warnings.count == 1)
        #expect(new.warnings.contains { $0.contains("sync_interval: always") })
        let node = try await servers.node { $0.patience = .seconds(40) }
        let good = try await EngineCheck.run(configuration)
        #expect(good.problems == [])
        let late = try await EngineCheck.run(configuration) { Date().addingTimeInterval(-60) }
        #expect(late.warnings.contains { $0.hasPrefix("this machine's clock is ") && $0.contains(" s behind that of") })
        await servers.servers[2].end()
        let worse = try await EngineCheck.run(configuration)
        #expect(worse.problems == [])
        #expect(worse.warnings.contains { $0.hasPrefix("cannot reach the log's server '\(configuration.servers[2])'") })
        #expect(try await node.stream().config.replicas == 3)
    }

    @Test func `check refuses a single server and one replica, and warns of an address without a server`() async throws
    {
        let servers = try await LogServers()
        var configuration = try servers.configuration()
        _ = try await servers.node { $0.maximumBytes = 1 << 20 }
        let single = try await EngineCheck.run(configuration)
        #expect(single.problems.contains { $0.hasPrefix("'log-replicas' is 1") })
        #expect(single.problems.contains { $0.hasPrefix("the log was created with 'log-replicas: 1'") })
        #expect(single.warnings.contains { $0.hasPrefix("the log's limits were changed") })
        configuration.replicas = 3
        let alone = try await EngineCheck.run(configuration)
        #expect(alone.problems.contains { $0.contains("not in a cluster") })
        let web = try ScriptedHTTPServer { _ in .raw("x") }
        configuration.servers = [try server("nats://127.0.0.1:\(web.port)")]
        let other = try await EngineCheck.run(configuration)
        #expect(other.problems == [])
        #expect(other.warnings.count == 1, "\(other.warnings)")
    }
}
