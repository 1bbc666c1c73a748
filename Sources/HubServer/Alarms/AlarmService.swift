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

    private let served: ServedHubs
    private let channel: any NodeChannel
    private let attempts = Attempts()
    /// Distinguishes this start from others.
    private let start = UUID().uuidString

    init(_ served: ServedHubs, _ channel: any NodeChannel) {
        self.served = served
        self.channel = channel
    }

    func run() async throws {
        await repeatUntilStopped(every: Self.interval) { await self.look() }
        guard let term = served.lease.current else { return }
        // Stores the observations since the last write.
        for hub in served.directory.hubs {
            try? await hub.alarms.turns.pass { try await hub.write(hub.alarms.record, in: term) }
        }
    }

    /// Loads the stored state of each hub's alarms.
    func load(isRestored: Bool) async throws {
        let states = try await served.store.alarmStates()
        for hub in served.directory.hubs {
            hub.loadAlarms(states[hub.record.id])
            hub.alarms.begin(isRestored: isRestored)
        }
    }

    /// Observes all hubs.
    func look() async {
        let hubs = served.directory.hubs
        guard let term = served.lease.current else {
            for hub in hubs {
                try? await hub.alarms.turns.pass { try await hub.followAlarms() }
                await announceAgents(of: hub)
            }
            return
        }
        let primary = hubs.first { $0.record.name == served.configuration.hubName } ?? hubs.first
        await attempts.make {
            let since = served.configuration.timestamp - PublisherReport.lifetime
            let publishers = try await served.store.publishers(since: since)
            try await served.directory.forEachHub { hub in
                do {
                    try await look(at: hub, publishers[hub.record.id] ?? [], isPrimary: hub === primary, term)
                } catch is AlarmsChanged {
                    // The next look begins with that change.
                }
            }
        } report: { error in
            served.logger.warning("cannot judge alarms; trying again", metadata: ["error.reason": "\(error)"])
        }
    }

    /// Announces to the node with the duties the expected agents that have streams here.
    private func announceAgents(of hub: Hub) async {
        let expected = served.configuration.alarmAgents
        guard !expected.isEmpty,
            let open = try? await hub.ask({ view in
                expected.filter { id in view.registry[id].map { view.hasStream($0.ordinal) } ?? false }
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
            let hub = served.directory.hubs.first(where: { $0.record.id.rawValue == key })
        else { return }
        hub.alarms.note(agentsElsewhere: names, at: served.configuration.monotonic())
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
            tls: served.directory.tls,
            node: served.directory.nodeReport(served.writer)
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
            let room = hub.alarms.room(at: served.configuration.monotonic())
            let changes = record.judge.judge(
                facts,
                served.configuration.alarmRules,
                now: served.configuration.timestamp,
                isClockSteady: served.releases.isClockSteady,
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
