import Foundation
import HubProtocol
import HubRouting
import HubStore
import HubTestServer
import Logging
import Testing

@testable import HubServer

struct ProvisionTests {
    private static let senders = AccessRule(name: "Senders", primaryKey: "s1", secondaryKey: "s2", rights: .send)
    private static let listen = AccessRule(
        name: AccessRule.defaultListenName,
        primaryKey: "l",
        secondaryKey: "l",
        rights: .listen
    )

    private func provisions(_ rules: [AccessRule], days: Int64? = nil) throws -> HubProvisions {
        var provisions = HubProvisions()
        provisions.hubs = [
            HubProvisions.Hub(
                name: try HubName("orders"),
                registrationTimeToLive: days.map { RegistrationTimeToLive(.seconds($0 * 86_400)) },
                rules: rules
            )
        ]
        return provisions
    }

    /// Opens the server's file as a start does, and tells what it logged.
    private func start(
        _ scratch: Scratch,
        _ provisions: HubProvisions,
        makesFirstHub: Bool = true
    ) async throws -> (HubService, log: [String]) {
        var configuration = HubConfiguration(databasePath: scratch.path, hubName: try HubName("news"))
        configuration.port = 0
        configuration.provisions = provisions
        configuration.makesFirstHub = makesFirstHub
        let lines = LogLines(level: .notice)
        let service = try await HubService(configuration, logger: lines.logger)
        return (service, lines.all)
    }

    @Test func `hubs and rules are made, kept, and set back, and others are left alone`() async throws {
        let scratch = try Scratch()
        var (service, log) = try await start(scratch, try provisions([Self.listen, Self.senders], days: 90))
        var hubs = service.directory.all.map(\.hub)
        #expect(hubs.map(\.record.name.text) == ["news", "orders"])
        #expect(
            log == [
                """
                notice a hub was created from the configuration hub.name=orders \
                rule.names=DefaultListenSharedAccessSignature, Senders
                """
            ]
        )
        let orders = try service.directory.hub(named: "orders")
        #expect(Set(orders.status.rules.hub.map(\.name)) == [Self.listen.name, "Senders", AccessRule.defaultFullName])
        #expect(orders.status.rules.hub.contains(Self.listen) && orders.status.rules.hub.contains(Self.senders))
        #expect(orders.status.registrationLifetime == .seconds(90 * 86_400))
        let news = hubs[0].status.rules.hub

        (service, log) = try await start(scratch, try provisions([Self.listen, Self.senders], days: 90))
        #expect(log == [], "nothing was to be done")

        // Somebody has rotated a key and added a rule.
        let rotated = AccessRule(name: "Senders", primaryKey: "other", secondaryKey: "s1", rights: .send)
        let (id, own) = (orders.record.id, AccessRule.generated(name: "Own", rights: .listen))
        let changes: @Sendable (Transaction) throws -> Void = { transaction in
            for rule in [rotated, own] { try transaction.put(rule, hub: id, at: 1) }
        }
        for result in try await orders.store.commit([changes]) { try result.get() }
        (service, log) = try await start(scratch, try provisions([Self.senders], days: 30))
        #expect(log == ["notice a hub was updated from the configuration hub.name=orders rule.names=Senders"])
        let again = try service.directory.hub(named: "orders")
        #expect([Self.senders, own, Self.listen].allSatisfy { again.status.rules.hub.contains($0) })
        #expect(again.status.registrationLifetime == .seconds(30 * 86_400))
        hubs = service.directory.all.map(\.hub)
        #expect(hubs[0].status.rules.hub == news)
    }

    @Test func `the namespace's rule gets the configured key`() async throws {
        let scratch = try Scratch()
        var provisions = HubProvisions()
        let root = AccessRule(
            name: AccessRule.rootName,
            primaryKey: "r",
            secondaryKey: "r",
            rights: [.listen, .manage, .send]
        )
        provisions.namespaceRules = [root]
        let (service, log) = try await start(scratch, provisions, makesFirstHub: false)
        #expect(service.directory.namespaceRules == [root])
        #expect(service.directory.all.isEmpty, "only what was asked for")
        #expect(
            log == [
                "notice the namespace's rules were set from the configuration rule.names=RootManageSharedAccessKey"
            ]
        )
        #expect(try await start(scratch, HubProvisions()).0.directory.namespaceRules == [root], "it stays")
    }

    @Test func `a hub that would have too many rules stops the start and changes nothing`() async throws {
        let scratch = try Scratch()
        let rules = (0..<10).map { AccessRule.generated(name: "R\($0)", rights: .send) }
        _ = try await start(scratch, try provisions(rules))
        let error = await #expect(throws: HubProvisionError.self) {
            try await start(scratch, try provisions([Self.senders], days: 3))
        }
        #expect(error.map { "\($0)".contains("13 rules") } == true)
        let service = try await start(scratch, HubProvisions()).0
        #expect(try service.directory.hub(named: "orders").status.registrationLifetime == nil)
    }

    @Test func `a new hub has room for its standard rules, too`() async throws {
        let scratch = try Scratch()
        let rules = (0..<11).map { AccessRule.generated(name: "R\($0)", rights: .send) }
        let error = await #expect(throws: HubProvisionError.self) { try await start(scratch, try provisions(rules)) }
        #expect(error.map { "\($0)".contains("13 rules") } == true)
        let (service, _) = try await start(scratch, try provisions([Self.listen] + rules.dropLast()))
        #expect(try service.directory.hub(named: "orders").status.rules.hub.count == 12)
    }

    @Test func `whoever keeps connection strings hears of changed keys`() async throws {
        let scratch = try Scratch()
        let changed = HubTestServer.Counter<String>()
        let (service, _) = try await start(scratch, try provisions([Self.senders]))
        let (_, running) = try await PortReport.start { report in
            try await service.run(onRunning: report, onKeysChanged: { _ in changed.append("changed") })
        }
        let before = try service.connectionStrings(endpoint: "http://127.0.0.1:1/").map(\.description)
        let body = TestHub.entry(
            "<AuthorizationRules>\(TestHub.rule(AccessRule.defaultListenName, ["Listen"], primary: "new"))</AuthorizationRules>"
        )
        let hub = try service.directory.hub(named: "news")
        _ = try await service.management.update(hub, NotificationHubChange(xml: Array(body.utf8)), bytes: 0)
        _ = await changed.elements(atLeast: 1)
        let after = try service.connectionStrings(endpoint: "http://127.0.0.1:1/").map(\.description)
        #expect(before.count == 2 && after.count == 1)
        #expect(after[0].hasSuffix("SharedAccessKey=new"))
        running.cancel()
        try await running.value
        #expect(changed.elements == ["changed"])
    }
}
