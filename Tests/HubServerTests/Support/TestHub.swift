import Foundation
import GRDB
import HubProtocol
import HubRouting
import HubStore
import Logging
import ServiceLifecycle
import Synchronization

import enum HubTestServer.PortReport
import class HubTestServer.Signal

@testable import HubServer

/// A folder for a hub's file, which goes with the object.
final class Scratch: Sendable {
    let folder: String
    var path: String { folder + "/hub.sqlite" }

    init() throws {
        folder = NSTemporaryDirectory() + "hubserver-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Copies the file, whose hub must have stopped.
    func copyHub(to name: String) throws {
        try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        try FileManager.default.copyItem(atPath: path, toPath: "\(folder)/\(name)")
    }

    /// Puts an older copy in the place of the file.
    func restoreHub(from name: String) throws {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        try FileManager.default.copyItem(atPath: "\(folder)/\(name)", toPath: path)
    }

    /// Changes the file beside the hub.
    func damage(_ sql: String) async throws {
        try await DatabaseQueue(path: path).write { try $0.execute(sql: sql) }
    }
}

/// Clocks that stand still until they are told.
final class TestClock: Sendable {
    private struct Reading {
        var wall: Date
        var monotonic = Duration.zero
    }

    private let reading: Mutex<Reading>

    init(_ start: Date = Date(timeIntervalSince1970: 1_900_000_000)) { reading = Mutex(Reading(wall: start)) }

    var now: Date { reading.withLock { $0.wall } }
    /// Milliseconds of the clock that never jumps.
    var monotonic: Duration { reading.withLock { $0.monotonic } }

    /// Lets time pass on both clocks.
    func advance(by seconds: Double) {
        reading.withLock { reading in
            reading.wall += seconds
            reading.monotonic += .milliseconds(Int64(seconds * 1000))
        }
    }

    /// Sets the wall clock.
    func jump(by seconds: Double) { reading.withLock { $0.wall += seconds } }
}

/// The clock that never jumps, as a test sees it.
final class TestTime {
    var monotonic = Housekeeping.monotonic
}

/// A hub that serves on a free port of loopback.
struct TestHub: Sendable {
    let service: HubService
    let port: Int
    let listen: AccessRule
    let full: AccessRule
    let clock: TestClock
    /// Notified of everything that waits for the writer, and of everything that it has applied.
    let progress: Signal

    var member: HubDirectory.Member { service.directory.all[0] }
    var hub: Hub { member.hub }
    var head: LogSequence { hub.status.head }

    /// Runs a hub for the length of `body`, then stops it as a signal would.
    static func run<Output: Sendable>(
        _ scratch: Scratch,
        log: any OrderedLog = EmbeddedLog(),
        channel: any NodeChannel = NoOtherNodes(),
        clock: TestClock = TestClock(),
        logger: Logger = .quiet,
        configure: (inout HubConfiguration) -> Void = { _ in },
        mounting: (HubService) -> [MountedApplication] = { _ in [] },
        _ body: (TestHub) async throws -> Output
    ) async throws -> Output {
        var configuration = HubConfiguration(databasePath: scratch.path, hubName: try HubName("news"))
        configuration.port = 0
        configuration.now = { clock.now }
        configuration.monotonic = { clock.monotonic }
        // Tests look at what has just changed.
        configuration.metricsInterval = .zero
        configuration.rehearsesStages = true
        let progress = Signal()
        configuration.onProgress = { progress.notify() }
        configure(&configuration)
        let service = try await HubService(configuration, log: log, channel: channel, logger: logger)
        let rules = service.directory.all[0].hub.status.rules.hub
        let (ports, port) = AsyncStream<Int>.makeStream()
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(
                        service: Runner(service: service, applications: mounting(service), port: port),
                        successTerminationBehavior: .gracefullyShutdownGroup
                    )
                ],
                logger: logger
            )
        )
        async let running: Void = group.run()
        var iterator = ports.makeAsyncIterator()
        guard let bound = await iterator.next() else {
            try await running
            throw Stopped()
        }
        let hub = TestHub(
            service: service,
            port: bound,
            listen: try rules.named(AccessRule.defaultListenName),
            full: try rules.named(AccessRule.defaultFullName),
            clock: clock,
            progress: progress
        )
        let result: Result<Output, any Error>
        do { result = .success(try await body(hub)) } catch { result = .failure(error) }
        await group.triggerGracefulShutdown()
        try await running
        return try result.get()
    }

    /// Gives a hub whose writer holds still while `body` runs, then lets it work until what `body` returned has ended.
    static func held(
        _ scratch: Scratch,
        _ body: (Hub) async throws -> @Sendable () async throws -> Void
    ) async throws {
        var configuration = HubConfiguration(databasePath: scratch.path, hubName: try HubName("news"))
        configuration.port = 0
        let service = try await HubService(configuration, logger: .quiet)
        let rest = try await body(service.directory.all[0].hub)
        let (_, running) = try await PortReport.start { try await service.run(onRunning: $0) }
        try await rest()
        running.cancel()
        try await running.value
    }

    /// Changes what the hub knows of itself, as a change of its description does.
    func set(_ change: @escaping @Sendable (inout HubPolicy) -> Void) async throws {
        try await hub.perform { _, view in
            var policy = view.policy
            change(&policy)
            return ((), [PolicyEffect(policy)])
        }
    }

    struct Stopped: Error {}

    struct Unanswered: Error {
        let request, bytes: String
    }

    /// Lets time pass on both clocks and drops what has expired.
    ///
    /// The clock that never jumps goes on by `monotonic` seconds, `nil` for as many.
    func pass(_ seconds: Double, monotonic: Double? = nil, of time: TestTime) async throws {
        clock.advance(by: seconds)
        time.monotonic += .milliseconds(Int64((monotonic ?? seconds) * 1000))
        try await service.housekeeping.purge(monotonic: time.monotonic)
    }

    private struct Runner: Service {
        let service: HubService
        let applications: [MountedApplication]
        let port: AsyncStream<Int>.Continuation

        func run() async throws {
            defer { port.finish() }
            try await service.run(mounting: applications) { port.yield($0) }
        }
    }
}

extension [AccessRule] {
    fileprivate func named(_ name: String) throws -> AccessRule {
        guard let rule = first(where: { $0.name == name }) else { throw TestHub.Stopped() }
        return rule
    }
}

// MARK: - Requests

extension TestHub {
    /// A token for the whole hub, valid for an hour of the hub's clock.
    func token(_ rule: AccessRule, key: String? = nil, resource: String = "http://h/news", expiresIn: Int64 = 3600)
        -> String
    {
        SharedAccessToken.sign(
            resource: resource,
            keyName: rule.name,
            key: key ?? rule.primaryKey,
            expiresAt: Int64(clock.now.timeIntervalSince1970) + expiresIn
        )
    }

    /// Sends one request on a connection of its own.
    ///
    /// The path is below the hub, or from the root when it begins with `/`; without a rule there is no token.
    func send(
        _ method: String,
        _ path: String,
        as rule: AccessRule?,
        channel: PushChannelSecret? = nil,
        headers: [String: String] = [:],
        _ body: String = ""
    ) async throws -> Reply {
        let connection = try await Connection.open(port)
        let text = request(
            method,
            path,
            as: rule,
            channel: channel,
            headers: headers.merging(["Connection": "close"]) { $1 },
            body
        )
        try await connection.send(text)
        do {
            return try await connection.reply()
        } catch let error as Reply.Malformed {
            throw Unanswered(request: "\(method) \(path)", bytes: error.bytes)
        }
    }

    /// Sends a request as the second one of its connection, where nothing but the routes sees it.
    func sendSecond(
        _ method: String,
        _ path: String,
        as rule: AccessRule?,
        channel: PushChannelSecret? = nil,
        _ body: String = ""
    ) async throws -> Reply {
        let connection = try await Connection.open(port)
        try await connection.send(request("GET", "categories", as: listen))
        let closing = ["Connection": "close"]
        try await connection.send(request(method, path, as: rule, channel: channel, headers: closing, body))
        return try await connection.reply(after: 1)
    }

    func request(
        _ method: String,
        _ path: String,
        as rule: AccessRule?,
        channel: PushChannelSecret? = nil,
        headers: [String: String] = [:],
        _ body: String = ""
    ) -> String {
        var lines = ["\(method) \(path.first == "/" ? path : "/news/" + path) HTTP/1.1", "Host: h"]
        if let rule { lines.append("Authorization: \(token(rule))") }
        if let channel { lines.append("\(HeaderName.pushChannel): \(channel.text)") }
        if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
        for (name, value) in headers { lines.append("\(name): \(value)") }
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    /// Sends a message in template format.
    func post(
        _ properties: [MessageProperty: String] = ["title": "t"],
        tags: String? = nil,
        key: String? = nil
    ) async throws -> Reply {
        var headers = [HeaderName.format: "template"]
        if let tags { headers[HeaderName.tags] = tags }
        if let key { headers[HeaderName.idempotencyKey] = key }
        let body = String(decoding: MessageProperties(properties).encoded(), as: UTF8.self)
        return try await send("POST", "messages", as: full, headers: headers, body)
    }

    /// Opens an agent's stream as the first request of a connection.
    func stream(_ agent: Agent, after cursor: String? = nil) async throws -> EventReader {
        let connection = try await Connection.open(port)
        var headers: [String: String] = [:]
        if let cursor { headers[HeaderName.lastEventID] = cursor }
        let path = "installations/\(try InstallationID(agent.id).urlPathSegment)/stream"
        try await connection.send(request("GET", path, as: listen, channel: agent.secret, headers: headers))
        return try await EventReader(connection)
    }

    func put(_ agent: Agent, as rule: AccessRule? = nil) async throws -> Reply {
        try await send("PUT", "installations/\(agent.id)", as: rule ?? listen, channel: agent.secret, agent.json)
    }
}

extension InstallationTemplate {
    /// Makes as much of a long message as one template may; two of them are more than a message may become.
    static func huge(tags: [String]) throws -> InstallationTemplate {
        let members = (0..<200).map { #""m\#($0)":"$(messageParam)""# }.joined(separator: ",")
        return InstallationTemplate(body: "{\(members)}", tags: try tags.map { try Tag($0) })
    }
}

/// An installation of platform `stream`, as its owner knows it.
struct Agent: Sendable {
    let id: String
    var secret = PushChannelSecret.random()
    var tags: [String] = []
    var templates = [AgentTemplate.name: InstallationTemplate(body: AgentTemplate.body)]
    var variables: [String: String] = [:]
    var expirationTime: Date?

    init(_ id: String, tags: [String] = []) {
        self.id = id
        self.tags = tags
    }

    var installation: Installation {
        get throws {
            Installation(
                id: try InstallationID(id),
                platform: .stream,
                pushChannel: .handle(secret.text),
                expirationTime: expirationTime,
                tags: try tags.map { try Tag($0) },
                pushVariables: variables,
                templates: templates
            )
        }
    }

    var json: String { (try? installation.encodedJSON(as: .request)) ?? "" }
}
