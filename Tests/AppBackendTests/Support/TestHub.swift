import Foundation
import HubClient
import HubProtocol
import HubRouting
import HubStore
import HubTestServer
import Logging
import OutboundHTTP

@testable import HubServer

/// A hub named `news` that serves on a free port of loopback, and a client of it with Manage.
struct TestHub: Sendable {
    let service: HubService
    let port: Int
    let client: HubClient

    struct NotStarted: Error {}

    /// Runs a hub for the length of `body`, then stops it as a signal would.
    static func run<Output>(
        in folder: ScratchFolder? = nil,
        logger: Logger = .quiet,
        configure: (inout HubConfiguration) -> Void = { _ in },
        mounting: (HubService) -> [MountedApplication] = { _ in [] },
        _ body: (TestHub) async throws -> Output
    ) async throws -> Output {
        let scratch = try folder ?? ScratchFolder()
        let name = try HubName("news")
        var configuration = HubConfiguration(databasePath: scratch.file("hub.sqlite"), hubName: name)
        configuration.port = 0
        configure(&configuration)
        let service = try await HubService(configuration, logger: logger)
        let applications = mounting(service)
        let (bound, running) = try await PortReport.start {
            try await service.run(mounting: applications, onRunning: $0)
        }
        let http = OutboundClient(userAgent: "newswire-test/1")
        let result: Result<Output, any Error>
        do {
            let strings = try service.connectionStrings(endpoint: "http://127.0.0.1:\(bound)/")
            guard let full = strings.first(where: { $0.keyName == AccessRule.defaultFullName }) else {
                throw NotStarted()
            }
            let client = try HubClient(connection: full, hub: name, http: http)
            result = .success(try await body(TestHub(service: service, port: bound, client: client)))
        } catch {
            result = .failure(error)
        }
        await http.shutdown()
        running.cancel()
        try await running.value
        return try result.get()
    }

    /// Registrations that carry a tag, by push handle.
    func registrations(_ tag: String) async throws -> [Registration] {
        var found: [Registration] = []
        let tag = try Tag(tag)
        try await client.forEachPage(of: .tag(tag)) { found += $0.registrations }
        return found.sorted { $0.pushChannel.handle < $1.pushChannel.handle }
    }

    /// All registrations, by push handle.
    func registrations() async throws -> [Registration] {
        var found: [Registration] = []
        try await client.forEachPage(of: .all) { found += $0.registrations }
        return found.sorted { $0.pushChannel.handle < $1.pushChannel.handle }
    }

    /// Ends a registration as its expiry does, so that its id cannot be used again.
    func expire(_ id: RegistrationID) async throws {
        guard let hub = service.directory.all.first?.hub else { throw NotStarted() }
        var registration = try await hub.registrations.registration(id).registration
        registration.expirationTime = Date(timeIntervalSince1970: 1)
        let past = registration
        try await hub.perform { transaction, view in
            let (_, change) = try hub.registrations.stage(
                past,
                if: .none,
                writer: nil,
                isImport: true,
                at: Timestamp(Date()),
                transaction,
                view
            )
            return ((), [TargetsEffect([change])])
        }
        _ = try await hub.registrations.endExpired(at: Timestamp(Date()), limit: 10)
    }

    /// Delivers all that can be delivered now.
    func settlePushes() async {
        service.push.wakeAll()
        await service.push.settle()
        // What an answer has given back is on its way again.
        await service.push.settle()
    }
}

extension Logger {
    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
