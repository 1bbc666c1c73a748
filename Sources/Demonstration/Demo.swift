import AppBackend
import FeedLists
import FeedPublisher
import Foundation
import HostSystem
import HubClient
import HubProtocol
import HubServer
package import Logging
import MountedBackend
package import OutboundHTTP
import PageServer
import Settings
package import SubscriberAgent

/// The output of a demo, and its destinations.
package struct DemoEnvironment: Sendable {
    /// Prints a line of data; throws ``HandlerFailure``.
    package let print: @Sendable (String) throws -> Void
    package let reporter: AgentReporter
    package let logger: @Sendable (_ label: String) -> Logger

    package init(
        print: @escaping @Sendable (String) throws -> Void,
        reporter: AgentReporter,
        logger: @escaping @Sendable (_ label: String) -> Logger
    ) {
        self.print = print
        self.reporter = reporter
        self.logger = logger
    }
}

/// Suggestions for a demo that keeps running.
package struct DemoInvitation: Sendable {
    /// A file with the connection string that has all rights.
    package let connectionFile: String
    /// The address of the reader's page.
    package let page: String
    /// The user who can sign in there.
    package let user: String
    package let password: String
    /// A link to the operator's view, which works once, within an hour.
    package let operatorLink: String
}

/// The reason why a demo did not show what it should have.
package struct DemoError: Error, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// The whole pipeline in one process, over real HTTP on this machine: feeds, publisher, hub, two agents with users.
package struct Demo: Sendable {
    private struct Subscriber: Sendable {
        let name: String
        let user: String
        let categories: [String]
        let agent: SubscriberAgent
        let print: @Sendable (String) throws -> Void

        /// `onReady` is called when the agent listens and is registered as its user.
        func listen(onReady: @escaping @Sendable () -> Void) async throws {
            _ = try await agent.subscribe(
                choosing: try CategoryChoice(categories),
                handler: .print,
                output: LabelledOutput(label: name, print: print),
                onSubscribed: { if $0.user == user { onReady() } }
            )
        }
    }

    private static let choices = [
        (name: "newsdesk", user: "alice", categories: ["World", "Politics", "Technology"]),
        (name: "sofa", user: "bob", categories: ["Sports", "Science"]),
    ]
    private static let broadcast = "That was the demo"
    /// Time after which the demo fails.
    private static let patience = Duration.seconds(60)

    private let samples: SampleFeeds
    private let scratch: String
    private let http: OutboundClient
    private let environment: DemoEnvironment

    /// `scratch` is a directory that the demo may fill; `http` calls hub and feeds.
    package init(samples: SampleFeeds, scratch: String, http: OutboundClient, environment: DemoEnvironment) {
        self.samples = samples
        self.scratch = scratch
        self.http = http
        self.environment = environment
    }

    /// Runs until the samples have been delivered; with an `invitation`, until the task is cancelled.
    ///
    /// `invitation` returns the text to print once the samples have been delivered.
    package func run(thenInvite invitation: (@Sendable (DemoInvitation) -> String)?) async throws {
        let hubPort = Signal<Int>()
        let feedPort = Signal<Int>()
        let configuration = try configuration()
        let hub = try await HubService(configuration, logger: environment.logger("newswire.hub"))
        let people = try await DemoPeople(Self.choices.map(\.user), database: "\(scratch)/\(HubFiles.backend)")
        let backend = BackendMount(
            BackendMount.Storage.files(
                database: "\(scratch)/\(HubFiles.backend)",
                key: "\(scratch)/\(HubFiles.backendKey)"
            ),
            on: hub,
            configuration: BackendConfiguration(),
            logger: environment.logger("newswire.backend")
        )
        let store = try PageStore(path: "\(scratch)/\(HubFiles.pages)")
        let pages = try PageServer(
            store: store,
            on: hub,
            configuration,
            backend: backend,
            logger: environment.logger("newswire.pages")
        )
        try await firstToEnd([
            { try await hub.run(mounting: [backend.application, pages.application]) { hubPort.send($0) } },
            { try await samples.serve { feedPort.send($0) } },
            {
                let ports = (hub: try await hubPort.value(), feeds: try await feedPort.value())
                try await show(hub, people, ports, invitation, store)
            },
        ])
    }

    private func show(
        _ hub: HubService,
        _ people: DemoPeople,
        _ ports: (hub: Int, feeds: Int),
        _ invitation: (@Sendable (DemoInvitation) -> String)?,
        _ pageStore: PageStore
    ) async throws {
        let endpoint = "http://127.0.0.1:\(ports.hub)/"
        let strings = try hub.connectionStrings(endpoint: endpoint)
        guard let listen = strings.first, let full = strings.last else {
            throw DemoError("the demo's hub has no rules")
        }
        try environment.print("hub         ready at \(endpoint)")
        let client = try HubClient(connection: full, hub: try HubName(HubName.standard), http: http)
        let subscribers = try Self.choices.map { try subscriber($0.name, $0.user, $0.categories, listen) }
        for (subscriber, person) in zip(subscribers, people.people) {
            let backend = try BackendAddress(servedBy: listen)
            _ = try await subscriber.agent.logIn(
                user: person.name,
                password: person.password,
                at: backend,
                device: "the demo"
            )
        }
        let ready = subscribers.map { _ in Signal<Void>() }
        var work: [@Sendable () async throws -> Void] = zip(subscribers, ready).map { subscriber, ready in
            { try await subscriber.listen { ready.send(()) } }
        }
        work.append {
            for (subscriber, ready) in zip(subscribers, ready) {
                try await ready.value()
                let names = subscriber.categories.joined(separator: ", ")
                try environment.print("agent       \(subscriber.name) chose \(names); \(subscriber.user) is logged in")
            }
            let lists = try feedLists(port: ports.feeds)
            let store = try PublisherStore(path: "\(scratch)/publisher.sqlite")
            defer { try? store.close() }
            let announcing = pass(lists, store, client, isForced: true)
            try await firstToEnd([
                { try await announce(announcing, client, people, to: subscribers) },
                {
                    try await Task.sleep(for: Self.patience)
                    throw DemoError("not everything arrived within \(Self.patience.components.seconds) s")
                },
            ])
            guard let invitation, let reader = people.people.last else { return }
            let file = "\(scratch)/\(HubFiles.Connection.full.rawValue)"
            try PrivateFile.write("\(full)\n", to: file)
            let page = "\(endpoint)-/\(HubName.standard)/"
            let code = try await pageStore.inviteOperator(of: try HubName(HubName.standard), at: Timestamp(Date())).code
            let shown = DemoInvitation(
                connectionFile: file,
                page: page,
                user: reader.name,
                password: reader.password,
                operatorLink: "\(page)admin/enter?code=\(code)"
            )
            try environment.print(invitation(shown))
            try await PublishWatch(pass(lists, store, client, isForced: false), directory: scratch).run()
        }
        try await firstToEnd(work)
    }

    // MARK: - Hub and agents

    private func configuration() throws -> HubConfiguration {
        var configuration = HubConfiguration(
            databasePath: "\(scratch)/\(HubFiles.database)",
            hubName: try HubName(HubName.standard)
        )
        configuration.port = 0
        return configuration
    }

    private func subscriber(
        _ name: String,
        _ user: String,
        _ categories: [String],
        _ connection: ConnectionString
    ) throws -> Subscriber {
        let directory = try StateDirectory.locate(
            role: "agent",
            profile: name,
            override: "\(scratch)/\(name)",
            environment: [:]
        )
        let agent = try SubscriberAgent(
            AgentConfiguration(directory: directory, profile: name, connection: connection),
            environment: AgentEnvironment(reporter: environment.reporter),
            http: http,
            logger: environment.logger("newswire.agent")
        )
        return Subscriber(name: name, user: user, categories: categories, agent: agent, print: environment.print)
    }

    // MARK: - News

    private func announce(
        _ pass: PublishPass,
        _ client: HubClient,
        _ people: DemoPeople,
        to subscribers: [Subscriber]
    ) async throws {
        let baseline = try await publish(pass)
        let found = "\(Counted.text(baseline.recorded, "entry", "entries")) recorded, \(baseline.sent) announced"
        try environment.print("publisher   first pass: \(found)")
        samples.moveOn()
        let start = Timestamp(Date())
        let news = try await publish(pass)
        let sent =
            "\(Counted.text(news.announced, "new entry", "new entries")), \(Counted.text(news.sent, "message")) sent"
        try environment.print("publisher   second pass: \(sent)")
        await pass.reportHealth(after: news, schedule: .watch)
        let personal = try await people.talk(through: subscribers[0].agent)
        try environment.print("people      \(subscribers[0].user) notified \(subscribers[1].user), once securely")
        // Streams are in order: an agent that has this message has all earlier ones.
        let last = MessageProperties([.title: Self.broadcast, .messageParam: Self.broadcast])
        _ = try await client.send(last.encoded(), tags: nil, idempotencyKey: "demo")
        var isComplete = true
        for subscriber in subscribers {
            let own = subscriber.user == subscribers[1].user ? personal : []
            let received = try await inbox(of: subscriber, with: own)
            isComplete = try report(subscriber, received, own, since: start) && isComplete
        }
        guard isComplete else { throw DemoError("the agents did not receive every expected message") }
        try environment.print("every expected message arrived once, and no other")
    }

    private func pass(
        _ lists: FeedLists,
        _ store: PublisherStore,
        _ client: HubClient,
        isForced: Bool
    ) -> PublishPass {
        var options = PublishOptions()
        options.force = isForced
        options.publisher = "demo"
        return PublishPass(
            lists: lists,
            store: store,
            http: http,
            hub: client,
            options: options,
            reporter: PublishReporter(line: { environment.reporter.warning($0.text) })
        )
    }

    private func publish(_ pass: PublishPass) async throws -> PublishReport {
        let report = try await pass.run()
        guard report.exit == .done else { throw DemoError("the publisher ended with \(report.exit)") }
        return report
    }

    private func feedLists(port: Int) throws -> FeedLists {
        let texts = samples.samples.map { sample in
            let text = """
                category: \(sample.category)
                feeds:
                  - url: http://127.0.0.1:\(port)/\(sample.name)
                    every: 5m
                    local: true
                """
            return (file: "\(sample.name).yaml", text: text)
        }
        return try FeedLists.parse(texts)
    }

    /// Returns everything that a subscriber has, once it has the last message and those of its user.
    ///
    /// The text of a secure notification is fetched while the stream continues.
    private func inbox(of subscriber: Subscriber, with own: [String]) async throws -> [InboxRecord] {
        while true {
            let records = try await subscriber.agent.inbox(last: 1_000)
            let texts = Set(records.map(Self.text))
            if texts.contains(Self.broadcast), texts.isSuperset(of: own) { return records }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    // MARK: - Output

    /// Prints what a subscriber received.
    ///
    /// - Returns: True if the subscriber received every expected message once, and no other.
    private func report(
        _ subscriber: Subscriber,
        _ records: [InboxRecord],
        _ own: [String],
        since start: Timestamp
    ) throws -> Bool {
        let expected = try subscriber.categories.flatMap(samples.news) + own + [Self.broadcast]
        let received = records.map(Self.text)
        let slowest = records.map { ($0.receivedAt - start).milliseconds }.max() ?? 0
        let count = "\(received.count) of \(expected.count) messages"
        try environment.print("\(subscriber.name): \(count), the last \(slowest) ms after the feeds were asked")
        for record in records {
            let delay = (record.receivedAt - start).milliseconds
            let text = Self.text(record)
            let addressee = own.contains(text) ? subscriber.user : "everybody"
            let category = record.content.category.isEmpty ? addressee : record.content.category
            try environment.print("  \(delay) ms  \(TerminalText.safe("\(category): \(text)"))")
        }
        return expected.sorted() == received.sorted()
    }

    private static func text(_ record: InboxRecord) -> String {
        record.content.title.isEmpty ? record.content.message : record.content.title
    }
}

/// Prints an agent's lines with its name before them.
private struct LabelledOutput: HandlerOutput {
    let label: String
    let print: @Sendable (String) throws -> Void

    func write(_ bytes: [UInt8], within limit: Duration) async throws(HandlerFailure) {
        let name = label.padding(toLength: 11, withPad: " ", startingAt: 0)
        do {
            for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") { try print("\(name) \(line)") }
        } catch {
            throw error as? HandlerFailure ?? .failed("\(error)")
        }
    }
}

/// A value that is sent once and waited for by one task.
private final class Signal<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    func send(_ value: Value) {
        continuation.yield(value)
    }

    /// - Throws: `CancellationError`.
    func value() async throws -> Value {
        for await value in stream { return value }
        throw CancellationError()
    }
}

/// Runs all concurrently; when the first ends, cancels the others.
private func firstToEnd(_ work: [@Sendable () async throws -> Void]) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for each in work { group.addTask { try await each() } }
        defer { group.cancelAll() }
        try await group.next()
    }
}
