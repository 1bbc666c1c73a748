import Alarms
import Foundation
import HubProtocol
import HubRouting
import HubStore
import Logging
import ServiceLifecycle
import Signals
import Synchronization

/// Observes each hub once a minute, and notifies its operators of alarms that begin and end.
///
/// A node without the duties only follows the alarms that the node with them stores.
final class AlarmService: Service {
    static let interval = Duration.seconds(60)

    private let store: HubStore
    private let directory: HubDirectory
    private let lease: NodeLease
    private let channel: any NodeChannel
    private let configuration: HubConfiguration
    private let isClockSteady: @Sendable () -> Bool
    private let logger: Logger
    private let hasSaidFailure = Mutex(false)
    /// Distinguishes this start from others.
    private let start = UUID().uuidString

    init(
        store: HubStore,
        directory: HubDirectory,
        lease: NodeLease,
        channel: any NodeChannel,
        configuration: HubConfiguration,
        isClockSteady: @escaping @Sendable () -> Bool,
        logger: Logger
    ) {
        self.store = store
        self.directory = directory
        self.lease = lease
        self.channel = channel
        self.configuration = configuration
        self.isClockSteady = isClockSteady
        self.logger = logger
    }

    func run() async throws {
        await repeatUntilStopped(every: Self.interval) { await self.look() }
        guard let term = lease.current else { return }
        // Stores the observations since the last write.
        for hub in directory.all.map(\.hub) {
            try? await hub.alarms.turns.pass { try await hub.write(hub.alarms.record, in: term) }
        }
    }

    /// Loads the stored state of each hub's alarms.
    func load(isRestored: Bool) async throws {
        let states = try await store.alarmStates()
        for hub in directory.all.map(\.hub) {
            hub.loadAlarms(states[hub.record.id])
            hub.alarms.begin(isRestored: isRestored)
        }
    }

    /// Observes all hubs.
    func look() async {
        let hubs = directory.all.map(\.hub)
        guard let term = lease.current else {
            for hub in hubs {
                try? await hub.alarms.turns.pass { try await hub.followAlarms() }
                await announceAgents(of: hub)
            }
            return
        }
        let primary = hubs.first { $0.record.name == configuration.hubName } ?? hubs.first
        var failure: (any Error)?
        do {
            let since = configuration.timestamp - PublisherReport.lifetime
            let publishers = try await store.publishers(since: since)
            for hub in hubs {
                do {
                    try await look(at: hub, publishers[hub.record.id] ?? [], isPrimary: hub === primary, term)
                } catch is AlarmsChanged {
                    // The next look begins with that change.
                } catch is LeaseLost {
                    return
                } catch  where hub.isDeleted {
                } catch {
                    // The failure of one hub must not hide the alarms of the others.
                    failure = failure ?? error
                }
            }
        } catch {
            failure = error
        }
        note(failure)
    }

    /// Announces to the node with the duties the expected agents that have streams here.
    private func announceAgents(of hub: Hub) async {
        let expected = configuration.alarmAgents
        guard !expected.isEmpty,
            let open = try? await hub.ask({ view in
                expected.filter { id in view.entry(of: id).map { view.hasStream($0.ordinal) } ?? false }
            })
        else { return }
        var bytes = EntryWriter()
        bytes.append(NodeMessages.Kind.agents)
        bytes.append(signed: hub.record.id.rawValue)
        bytes.append(list: open) { $0.append(text: $1.text) }
        channel.announce(bytes.bytes)
    }

    /// Notes the agents that have streams at another node.
    ///
    /// A late report could only delay the alarm of an agent that is away; the channel drops it.
    func note(agents bytes: ArraySlice<UInt8>) {
        var reader = EntryReader(Array(bytes))
        guard let key = try? reader.signed(),
            let names = try? reader.list({ reader throws(LogEntryError) in try reader.text() }),
            let hub = directory.all.map(\.hub).first(where: { $0.record.id.rawValue == key })
        else { return }
        hub.alarms.note(agentsElsewhere: names, at: configuration.monotonic())
    }

    /// Logs the first of several failures in a row.
    private func note(_ failure: (any Error)?) {
        guard let failure else { return hasSaidFailure.withLock { $0 = false } }
        // The writer logs why it cannot write, and the next look sends what this one could not; or the hub is stopping.
        guard !(failure is ProtocolError), !(failure is CancellationError) else { return }
        let isFirst = hasSaidFailure.withLock { hasSaid in
            defer { hasSaid = true }
            return !hasSaid
        }
        guard isFirst else { return }
        logger.warning("cannot judge alarms; trying again", metadata: ["error.reason": "\(failure)"])
    }

    /// Observes one hub; a disabled hub sends nothing, and nothing is expected of it.
    private func look(
        at hub: Hub,
        _ publishers: [PublisherSummary],
        isPrimary: Bool,
        _ term: LeaseTerm
    ) async throws {
        guard !hub.status.isDisabled else { return }
        let observer = AlarmObserver(
            hub: hub,
            publishers: publishers,
            isPrimary: isPrimary,
            tls: directory.tls,
            replicas: directory.replicas
        )
        try await hub.alarms.turns.pass {
            try await hub.followAlarms()
            var record = hub.alarms.record
            // The state tells whose watch it is: a silence at another node may bring back the state of a former one.
            let watcher = "\(start) \(term.number.map { "\($0)" } ?? "")"
            let begins = record.watcher != watcher
            if begins {
                record.judge.begin()
                record.watcher = watcher
            }
            let facts = try await observer.facts(&record)
            let room = hub.alarms.room(at: configuration.monotonic())
            let changes = record.judge.judge(
                facts,
                configuration.alarmRules,
                now: configuration.timestamp,
                isClockSteady: isClockSteady(),
                mayTell: room > 0
            )
            if changes.isEmpty, !begins || term == .unshared, hub.alarms.keep(record) { return }
            let described = hub.alarms.record.judge
            let notices = AlarmNotice.compose(changes, limit: max(room, 1)) { [record] alarm in
                let finding = record.judge.finding(of: alarm) ?? described.finding(of: alarm)
                return AlarmDescription(alarm, finding, id: alarm.id)
            }
            try await hub.write(record, changes, notices, in: term)
        }
    }
}
