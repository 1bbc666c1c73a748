import Foundation
import HubClient
import HubProtocol
import HubRouting
import HubTestServer
import Testing

@testable import HubServer

/// The same operations in the hub's process and over HTTP.
@Suite(.timeLimit(.minutes(5))) struct LocalHubTests {
    private static let secret = String(repeating: "A", count: 43)

    private static func registration(_ id: RegistrationID, _ handle: String) throws -> Registration {
        Registration(id: id, tags: [try Tag("World")], platform: .apns, pushChannel: .handle(handle))
    }

    /// Calls every operation, with good and bad values; random ids and times are left out of the answers.
    private func results(of hub: any NotificationHub) async throws -> [String] {
        let world = try Tag("World")
        var all: [String] = []
        func note(_ name: String, _ call: () async throws(HubError) -> String) async {
            do throws(HubError) {
                all.append("\(name): \(try await call())")
            } catch {
                all.append("\(name): threw \(String(reflecting: error))")
            }
        }
        let agent = Installation(
            id: try InstallationID("agent"),
            platform: .stream,
            pushChannel: .handle(Self.secret),
            tags: [try Tag("World")]
        )
        let phone = Installation(
            id: try InstallationID("phone"),
            userID: try UserID("ann"),
            platform: .apns,
            pushChannel: .handle("AABB"),
            expirationTime: Date(timeIntervalSince1970: 4_000_000_000),
            tags: [try Tag("World"), try Tag("Sports")],
            templates: ["a b": InstallationTemplate(body: #"{"aps":{"alert":"$(message)"}}"#)]
        )
        for (name, installation) in [("agent", agent), ("phone", phone)] {
            await note("put \(name)") { () throws(HubError) in
                try await hub.put(installation)
                return "done"
            }
        }
        var wrong = phone
        wrong.tags = try (0...60).map { try Tag("t\($0)") }
        let tooMany = wrong
        await note("too many tags") { () throws(HubError) in
            try await hub.put(tooMany)
            return "done"
        }
        for (id, channel) in [
            ("agent", Self.secret), ("agent", "other"), ("phone", "AABB"), ("phone", "CC"), ("x", ""),
        ] {
            let id = try InstallationID(id)
            await note("installation \(id)") { () throws(HubError) in
                "\(String(describing: try await hub.installation(id, comparing: .handle(channel))))"
            }
        }
        for (start, count) in [(nil, 1), (nil, 0), ("x", 5), ("-1", 5)] as [(String?, Int)] {
            await note("streams from \(start ?? "the start"), \(count)") { () throws(HubError) in
                let page = try await hub.streamInstallations(with: world, from: start, count: count)
                return "\(page)"
            }
        }
        let id = try RegistrationID("4497227228776861650-7267172778370643468-3")
        let registration = try Self.registration(id, "AA11")
        await note("put a registration") { () throws(HubError) in
            try await hub.put(registration)
            return "done"
        }
        let broken = Registration(id: id, tags: [], platform: .wns, pushChannel: .handle("not a URL"))
        await note("put a broken one") { () throws(HubError) in
            try await hub.put(broken)
            return "done"
        }
        await note("registration") { () throws(HubError) in "\(try await hub.registration(id))" }
        let choices: [RegistrationChoice] = [
            .all, .tag(world), .handle("AA11"), .handle("it's"), .handle("AABB"),
        ]
        for choice in choices {
            await note("page of \(choice)") { () throws(HubError) in
                let first = try await hub.page(of: choice, from: nil, count: 1)
                let second = try await hub.page(of: choice, from: first.next, count: 100)
                let found = (first.answer.registrations + second.answer.registrations).map { registration in
                    let isOfClient = registration.id == id
                    return "\(isOfClient ? id.text : "") \(registration.tags) \(registration.pushChannel)"
                }
                return "\(found.sorted()), then \(String(describing: second.next))"
            }
        }
        await note("page from nowhere") { () throws(HubError) in
            "\(try await hub.page(of: .all, from: "nowhere", count: 1).answer.registrations.count)"
        }
        for (tags, body) in [("World", #"{"message":"x"}"#), ("World &&", "{}"), ("World", "no JSON")] {
            await note("send '\(body)' to '\(tags)'") { () throws(HubError) in
                let sent = try await hub.send(Array(body.utf8), tags: tags, idempotencyKey: body)
                return sent == nil ? "no id" : "an id"
            }
            await note("recipients of '\(tags)'") { () throws(HubError) in "\(try await hub.recipients(tags: tags))" }
        }
        await note("send natively to a device") { () throws(HubError) in
            let message = OutgoingMessage(Array(#"{"aps":{}}"#.utf8), format: .apple, device: "AABB")
            return try await hub.send(message) == nil ? "no id" : "an id"
        }
        var message: MessageID?
        await note("schedule") { () throws(HubError) in
            let later = Date(timeIntervalSinceNow: 3_600)
            message = try await hub.schedule(OutgoingMessage(Array("{}".utf8), tags: "World"), at: later)
            return message == nil ? "no id" : "an id"
        }
        let scheduled = try #require(message)
        await note("details") { () throws(HubError) in
            let details = try await hub.details(of: scheduled)
            return "\(details?.state.rawValue ?? "none")"
        }
        await note("scheduled") { () throws(HubError) in "\(try await hub.scheduledMessages(5).map(\.tags))" }
        await note("cancel") { () throws(HubError) in "\(try await hub.cancel(scheduled))" }
        await note("test") { () throws(HubError) in
            let (id, outcome) = try await hub.test(OutgoingMessage(Array("{}".utf8), tags: "Nobody"))
            return "\(id == nil), \(outcome.results.count)"
        }
        let unknown = try MessageID("00000000000000000000000000000000")
        await note("cancel nothing") { () throws(HubError) in "\(try await hub.cancel(unknown))" }
        await note("details of nothing") { () throws(HubError) in "\(try await hub.details(of: unknown) == nil)" }
        await note("report on nothing") { () throws(HubError) in "\(try await hub.report(on: unknown).id)" }
        await note("failures of nothing") { () throws(HubError) in "\(try await hub.failures(of: unknown).targets)" }
        await note("newest") { () throws(HubError) in "\(try await hub.newestMessages(50).map(\.tags))" }
        await note("newest 0") { () throws(HubError) in "\(try await hub.newestMessages(0).map(\.tags))" }
        await note("before") { () throws(HubError) in
            "\(try await hub.messages(before: LogSequence(rawValue: 2), count: 5).map(\.tags))"
        }
        await note("overview") { () throws(HubError) in
            let overview = try await hub.overview()
            let counts = [overview.installations, overview.registrations].map { $0.sorted { $0.key < $1.key } }
            return "\(overview.hub) \(counts)"
        }
        await note("set categories") { () throws(HubError) in
            try await hub.setCategories(["Storms"], publisher: "desk/a")
            return "\(try await hub.categories().suffix(1))"
        }
        for (names, publisher) in [(["a b"], "desk"), (["Storms"], "a\u{0}b")] {
            await note("set \(names)") { () throws(HubError) in
                try await hub.setCategories(names, publisher: publisher)
                return "done"
            }
        }
        await note("credentials") { () throws(HubError) in "\(try await hub.credentials(asking: false))" }
        await note("browser key") { () throws(HubError) in "\(try await hub.browserKey() == nil)" }
        let report = PublisherReport(
            schedule: .watch,
            lastPass: "2030-01-01T00:00:00Z",
            exitCode: 0,
            outbox: 1,
            feeds: []
        )
        await note("report") { () throws(HubError) in
            try await hub.report(report, publisher: "desk", timeout: .seconds(60))
            let summaries = try await hub.publishers().map(\.publisher)
            return "\(summaries) \(try await hub.publisher("desk").report)"
        }
        await note("requests") { () throws(HubError) in
            let asked = try await hub.ask("desk", PublisherRequest(.add, url: "https://a.example/", category: "World"))
            let kept = try await hub.requests(to: "desk", timeout: .seconds(60))
            return "\(asked.action) \(kept.map(\.url)) \(asked.number == kept.last?.number)"
        }
        await note("no request") { () throws(HubError) in
            "\(try await hub.ask("none", PublisherRequest(.poll, url: "u")))"
        }
        await note("bad request") { () throws(HubError) in
            "\(try await hub.ask("desk", PublisherRequest(.add, url: "u")))"
        }
        await note("no publisher") { () throws(HubError) in "\(try await hub.publisher("none"))" }
        await note("alarms") { () throws(HubError) in "\(try await hub.alarms().alarms.map(\.id))" }
        await note("silence nothing") { () throws(HubError) in
            try await hub.silence(alarm: "none", until: nil)
            return "done"
        }
        await note("silence until the past") { () throws(HubError) in
            try await hub.silence(alarm: "none", until: Date(timeIntervalSince1970: 1))
            return "done"
        }
        await note("end no silence") { () throws(HubError) in
            try await hub.endSilence(alarm: "none")
            return "done"
        }
        for _ in 1...2 {
            await note("delete a registration") { () throws(HubError) in "\(try await hub.delete(id))" }
            await note("delete") { () throws(HubError) in "\(try await hub.delete(agent.id))" }
        }
        return all
    }

    @Test func `operations in the process and over HTTP have the same results`() async throws {
        let local = try await TestHub.run { try await results(of: $0.service.primaryLocalHub) }
        let remote = try await TestHub.run { try await results(of: $0.client) }
        #expect(local.count == remote.count)
        for (local, remote) in zip(local, remote) { #expect(local == remote) }
        #expect(local.count { !$0.contains("threw") } > 30, "\(local)")
    }

    @Test func `an operation needs its right`() async throws {
        try await TestHub.run { test in
            let directory = test.service.directory
            let hub = directory.all[0].hub
            func operations(_ rights: AccessRights) -> HubOperations {
                let credential = Credential(rule: "r", key: "k")
                let grant = Grant(rights: rights, credential: credential)
                return HubOperations(hub: hub, directory: directory, grant: grant, source: nil)
            }
            let (id, tag) = (try InstallationID("a"), try Tag("a"))
            let (registration, message) = (
                try RegistrationID("4497227228776861650-7267172778370643468-3"), MessageID.random()
            )
            let filter = try HandleFilter(parsing: RegistrationChoice.filter("AA"))
            func incoming() throws -> IncomingMessage {
                try operations(.send).message(.messages, headers: [], query: "", body: Array("{}".utf8))
            }
            let calls: [(AccessRights, (HubOperations) async throws -> Void)] = [
                (.listen, { try await $0.putInstallation(channel: nil) { throw CancellationError() } }),
                (.listen, { try await $0.patchInstallation(id, channel: nil) { throw CancellationError() } }),
                (.listen, { _ = try await $0.installation(id, channel: nil) }),
                (.listen, { try await $0.deleteInstallation(id, channel: nil) }),
                (.manage, { _ = try await $0.streamInstallations(with: nil, from: nil, count: 1) }),
                (.listen, { _ = try await $0.putRegistration(if: .none) { throw CancellationError() } }),
                (.listen, { _ = try await $0.registration(registration) }),
                (.listen, { try await $0.deleteRegistration(registration, if: .none) }),
                (.manage, { _ = try await $0.registrations(.all, from: nil, limit: 1) }),
                (.manage, { _ = try await $0.registrations(.tag(tag), from: nil, limit: 1) }),
                (.send, { try await $0.cancel(message) }),
                (.send, { _ = try await $0.details(of: message) }),
                (.send, { _ = try await $0.recipients(of: RecipientQuery(tags: "a")) }),
                (.manage, { _ = try await $0.report(on: message, device: nil) }),
                (.manage, { _ = try await $0.failures(of: message, from: nil, count: nil) }),
                (.manage, { _ = try await $0.messages(.newest, count: nil) }),
                (.manage, { _ = try await $0.overview() }),
                (.listen, { _ = try await $0.categories() }),
                (.send, { try await $0.setCategories(publisher: "p") { throw CancellationError() } }),
                (.send, { try await $0.setReport(publisher: "p") { throw CancellationError() } }),
                (.send, { _ = try await $0.accept(try incoming()) }),
                (.send, { _ = try await $0.test(try incoming()) }),
                (.listen, { _ = try await $0.registrations(.handle(filter, $0.grant), from: nil, limit: 1) }),
                (.manage, { _ = try await $0.credentials(asking: false) }),
                (.listen, { _ = try $0.browserKey() }),
                (.manage, { try await $0.rotateBrowserKey() }),
                (.manage, { _ = try await $0.publishers() }),
                (.manage, { _ = try await $0.publisher("p") }),
                (.send, { _ = try await $0.requests(to: "p") }),
                (.manage, { _ = try await $0.ask("p") { throw CancellationError() } }),
                (.manage, { _ = try await $0.alarms() }),
                (.manage, { try await $0.silence(alarm: "a", until: nil) }),
                (.manage, { try await $0.endSilence(alarm: "a") }),
            ]
            for (right, call) in calls {
                let lacking: AccessRights = right == .listen ? .send : .listen
                await #expect(throws: ProtocolError.unauthorized(.claimRequired(right))) {
                    try await call(operations(lacking))
                }
                do {
                    try await call(operations(right))
                } catch let refusal as ProtocolError {
                    #expect(refusal.status != 401, "\(refusal)")
                } catch is CancellationError {
                    // It was admitted, and reads what it is to store.
                }
            }
        }
    }

    @Test func `a hub that is gone or disabled refuses`() async throws {
        try await TestHub.run { test in
            let local = test.service.primaryLocalHub
            #expect(try await local.categories().count == 6)
            let hub = test.service.directory.all[0].hub
            func status() async -> Int {
                do throws(HubError) {
                    _ = try await local.categories()
                    return 200
                } catch {
                    return if case .refused(let status, _, _, _) = error { status } else { 0 }
                }
            }
            let entry = """
                <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\
                <NotificationHubDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">\
                <Status>true</Status></NotificationHubDescription></content></entry>
                """
            let change = try NotificationHubChange(xml: Array(entry.utf8))
            _ = try await test.service.management.update(hub, change, bytes: 0)
            #expect(await status() == 403)
            #expect(test.service.localHub(local.name) == nil)
            try await test.service.management.delete(hub)
            #expect(await status() == 404)
        }
    }

    @Test func `a refusal says when to try again, as over HTTP`() {
        for (refusal, wait) in [
            (ProtocolError.stopping, 2), (.tooManyRequests("x", wait: .seconds(9)), 9), (.badRequest("x"), nil),
        ] as [(ProtocolError, Int64?)] {
            guard case .refused(let status, _, _, let retryAfter) = HubError(refusal) else { return }
            #expect(status == refusal.status && retryAfter == wait.map { .seconds($0) })
        }
    }
}
