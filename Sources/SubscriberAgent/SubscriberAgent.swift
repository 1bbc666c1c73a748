import DesktopNotifications
import HostSystem
package import HubProtocol
package import HubClient
package import Logging
package import OutboundHTTP
import SQLiteFiles

/// An agent with its profile, and the operations of its commands.
package final class SubscriberAgent: Sendable {
    package static let databaseName = "agent.sqlite"
    /// The lock of the one process that listens.
    static let lockName = "agent.lock"
    package static let connectionName = "connection"
    /// The file of the authorities for the hub's certificate, in PEM.
    static let authorityName = "ca.pem"
    /// Maximum size of a file of authorities in bytes; a system's whole set has 220 KB.
    static let maximumAuthorityBytes = 1 << 20

    let store: AgentStore
    let configuration: AgentConfiguration
    let environment: AgentEnvironment
    let http: OutboundClient
    let logins: LoginSource
    private let logger: Logger

    /// Opens the profile's database, creating the agent's identity on the first call.
    ///
    /// - Throws: ``AgentError``.
    package convenience init(
        _ configuration: AgentConfiguration,
        environment: AgentEnvironment,
        http: OutboundClient,
        logger: Logger
    ) throws(AgentError) {
        let store: AgentStore
        do {
            store = try AgentStore(
                path: configuration.directory.file(Self.databaseName),
                bounds: AgentStore.Bounds(unsettled: configuration.inboxSize, settled: configuration.inboxSize)
            )
        } catch {
            throw error.asAgentError
        }
        self.init(configuration, environment: environment, http: http, logger: logger, store: store)
    }

    init(
        _ configuration: AgentConfiguration,
        environment: AgentEnvironment,
        http: OutboundClient,
        logger: Logger,
        store: AgentStore
    ) {
        self.configuration = configuration
        self.environment = environment
        self.http = http
        self.logger = logger
        self.store = store
        logins = LoginSource(
            configuration.directory,
            hubAuthority: configuration.authorityFile,
            http: http,
            environment: environment
        )
    }

    /// Checks an agent's file without changing it.
    ///
    /// - Returns: The reason why it cannot be used; `nil` if it can.
    package static func databaseProblem(at path: String) -> String? {
        DatabaseOpener(AgentStore.migrator).problem(at: path)
    }

    /// Closes the database; the agent cannot be used afterwards.
    package func close() { store.close() }

    // MARK: Subscribe

    /// Listens until the task is cancelled; if another process already listens, only passes the choice on.
    ///
    /// `choice` is the value of `--categories`, and `template` that of `--language` or `--template`; `nil` means the
    /// stored value. With `notifying`, each message is also shown on the desktop, which replaces
    /// ``InboxHandler/print``.
    ///
    /// `onStart` is called once, after all steps that can fail on this machine, whether or not the hub is available.
    /// `onListening` is called for each opened stream, and `onSubscribed` when a stream is open and the hub's
    /// registration differs from the last one.
    ///
    /// - Returns: The ending, if there was no error.
    /// - Throws: ``AgentError``; with exit 75 if another process listens and there is no choice to pass on.
    package func subscribe(
        choosing choice: CategoryChoice?,
        template: TemplateChoice? = nil,
        handler: InboxHandler,
        notifying: Bool = false,
        output: any HandlerOutput,
        limits: HandlerLimits = HandlerLimits(),
        onStart: @Sendable () -> Void = {},
        onListening: @escaping @Sendable () -> Void = {},
        onSubscribed: @escaping @Sendable (Subscription) -> Void = { _ in }
    ) async throws(AgentError) -> SubscribeEnding {
        let path = configuration.directory.file(Self.lockName)
        let lock = try withHost { () throws(HostError) in try FileLock.acquire(path) }
        guard let lock else {
            guard choice != nil || template != nil else {
                throw AgentError(
                    .tryLater,
                    "another subscriber already listens for profile '\(configuration.profile)'",
                    hint: .otherSubscriber
                )
            }
            return .choiceStored(try await choose(choice, template, isListening: true))
        }
        defer { lock.close() }
        configuration.directory.removeLeftovers()
        let desktop = notifying ? desktop(beside: handler) : nil
        let runner = HandlerRunner(
            handler: handler,
            desktop: desktop,
            output: output,
            timeout: limits.timeout,
            environment: configuration.variables
        )
        try runner.check()
        var beginning = StreamReceiver.Beginning.unknown
        if choice != nil || template != nil {
            do {
                let outcome = try await choose(choice, template, isListening: false)
                beginning = outcome.isRegistered ? .registered : .away(retryAfter: outcome.retryAfter)
            } catch {
                if Task.isCancelled, error == HubFailure.cancelled.asAgentError { return .stopped }
                throw error
            }
        }
        await desktop?.start()
        do throws(AgentError) {
            let subscription = SubscriptionReport(onSubscribed)
            let ending = try await listen(runner, limits, beginning, onStart, onListening, subscription)
            await desktop?.close()
            return ending
        } catch {
            await desktop?.close()
            throw error
        }
    }

    private func desktop(beside handler: InboxHandler) -> DesktopHandler {
        let reporter = environment.reporter
        let notifier = DesktopNotifier(
            environment: HandlerRunner.passedOn(configuration.variables),
            report: reporter.warning
        )
        return DesktopHandler(notifier: notifier, reporter: reporter, beside: handler)
    }

    private func listen(
        _ runner: HandlerRunner,
        _ limits: HandlerLimits,
        _ beginning: StreamReceiver.Beginning,
        _ onStart: @Sendable () -> Void,
        _ onListening: @escaping @Sendable () -> Void,
        _ subscription: SubscriptionReport
    ) async throws(AgentError) -> SubscribeEnding {
        let record = try await storing(store.record)
        guard record.categories != nil else { throw nothingChosen }
        let client = try await connect().client
        let waiting = try await storing(store.unsettledCount)
        try? await store.purge()
        let flow = InboxFlow(waiting: waiting, limit: store.bounds.unsettled)
        let patience = PatientRetry<DatabaseFileError>(
            environment: environment,
            consequence: "no further messages are read until it can be written",
            recovery: "the inbox can be written again"
        )
        let worker = HandlerWorker(
            store: store,
            patience: patience,
            flow: flow,
            runner: runner,
            limits: limits,
            environment: environment
        )
        let backend = BackendWork(
            patience: patience,
            flow: flow,
            registrar: registrar(client),
            subscription: subscription
        )
        let receiver = StreamReceiver(beginning, beside: backend, logger: logger, onListening: onListening)
        onStart()
        return try await Self.run(receiver, worker, backend).get()
    }

    /// Runs the parts until the first one ends, then ends the others; the worker ends after the handler in progress.
    private static func run(
        _ receiver: StreamReceiver,
        _ worker: HandlerWorker,
        _ backend: BackendWork
    ) async -> Result<SubscribeEnding, AgentError> {
        await withTaskGroup(of: Result<SubscribeEnding, AgentError>.self) { group in
            group.addTask {
                var receiver = receiver
                do throws(AgentError) {
                    return .success(try await receiver.run())
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                do throws(DatabaseFileError) {
                    return .success(try await worker.run() == .outputClosed ? .outputClosed : .stopped)
                } catch {
                    return .failure(error.asAgentError)
                }
            }
            group.addTask {
                await backend.run()
                return .success(.stopped)
            }
            let first = await group.next() ?? .success(.stopped)
            group.cancelAll()
            await group.waitForAll()
            return first
        }
    }

    // MARK: Other commands

    /// Deletes the installation at the hub, then the choice; the inbox stays.
    ///
    /// - Returns: True if there was something to remove.
    /// - Throws: ``AgentError`` with exit 69 if the hub cannot be reached; then nothing has changed.
    package func unsubscribe() async throws(AgentError) -> Bool {
        let lock = try await ChangeLock.acquire(in: configuration.directory, environment)
        defer { lock.close() }
        let record = try await storing(store.record)
        guard record.categories != nil || record.registered != nil else { return false }
        let client = try await connect().client
        // The app backend removes the agent from the user's devices; the hub is called in any case.
        if record.taggedUser != nil, let login = logins.accepted() {
            try? await logins.client(login).delete(record.installation)
        }
        do {
            try await client.delete(record.installation, channel: record.channel)
        } catch {
            let failure = HubFailure(error)
            // 404 means that there is nothing to delete.
            guard case .notFound = failure else { throw failure.asAgentError }
        }
        try await storing(store.forget)
        return true
    }

    /// Returns the hub's categories with the chosen ones marked, then chosen categories that the hub does not have.
    ///
    /// - Throws: ``AgentError`` with exit 69 if the hub cannot be reached.
    package func categories() async throws(AgentError) -> [CategoryListing] {
        let record = try await storing(store.record)
        let chosen = record.categories ?? []
        return try await Self.categories(at: try await connect().client, chosen: chosen)
    }

    /// Returns a hub's categories with the chosen ones marked, then chosen categories that the hub does not have.
    ///
    /// - Throws: ``AgentError`` with exit 69 if the hub cannot be reached.
    package static func categories(
        at client: HubClient,
        chosen: [String] = []
    ) async throws(AgentError) -> [CategoryListing] {
        let known: [String]?
        do throws(HubError) {
            known = try await client.listedCategories()
        } catch {
            throw HubFailure(error).asAgentError
        }
        guard let known else {
            return chosen.map { CategoryListing(name: $0, isChosen: true, isKnown: nil) }
        }
        let folded = Set(chosen.map(CategoryChoice.folded))
        return known.map { name in
            CategoryListing(name: name, isChosen: folded.contains(CategoryChoice.folded(name)), isKnown: true)
        }
            + CategoryChoice.retired(chosen, known: known).map {
                CategoryListing(name: $0, isChosen: true, isKnown: false)
            }
    }

    /// Returns the stored choice; `nil` if there is none.
    package func choice() async throws(AgentError) -> [String]? {
        try await storing(store.record).categories
    }

    /// Returns the template by which the hub sends messages to this agent.
    package func template() async throws(AgentError) -> TemplateChoice {
        try await storing(store.record).template
    }

    /// Returns the id under which the hub knows this agent.
    package func installation() async throws(AgentError) -> InstallationID {
        try await storing(store.record).installation
    }

    /// Returns the number of rows of the inbox in some states.
    package func inboxCount(
        states: [InboxRecord.State] = InboxRecord.State.allCases
    ) async throws(AgentError) -> Int {
        try await storing { () async throws(DatabaseFileError) in try await self.store.count(states: states) }
    }

    /// Returns the newest rows of the inbox, at most `limit`, oldest of them first.
    package func inbox(
        last limit: Int,
        states: [InboxRecord.State] = InboxRecord.State.allCases
    ) async throws(AgentError) -> [InboxRecord] {
        try await storing { () async throws(DatabaseFileError) in
            try await self.store.records(last: limit, states: states)
        }
    }
}
