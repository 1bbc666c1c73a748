import Alarms
import Certificates
import Foundation
import HubProtocol
import HubRouting
import HubStore
import HubStreams
import Hummingbird

/// An overview of a hub: an extension that Azure does not have.
enum OverviewRoutes {
    static let routes = [
        Route(method: .get, path: "/overview", right: .manage, isOfNode: true) { request in
            try .json(encoding: try await request.operations.overview())
        }
    ]
}

/// Collects the values that the hub already has; nothing is counted for an overview.
struct OverviewLookup {
    let hub: Hub
    let directory: HubDirectory

    func overview() async throws -> HubOverview {
        let configuration = hub.configuration
        let size = try await hub.store.logSize()
        let log = HubOverview.Log(
            bytes: size.bytes,
            limitBytes: configuration.maximumLogBytes,
            oldest: size.oldest?.wholeSecond,
            droppedUnexpired: Int64(size.droppedBySize)
        )
        var overview = HubOverview(
            hub: hub.record.name.text,
            startedAt: directory.startedAt.wholeSecond,
            log: log
        )
        overview.version = configuration.version
        note(hub.status, in: &overview)
        note(hub.counters, in: &overview)
        for (platform, backlog) in try await hub.store.pushBacklog(hub: hub.record.id) {
            overview.pushBacklog["\(platform)"] = .init(messages: backlog.messages, targets: backlog.targets)
        }
        overview.waitingChanges = hub.writer.backlog.changes
        overview.failure = hub.writer.health.failureReason
        overview.credentials = CredentialLookup(hub: hub).report().credentials
        overview.certificate = directory.tls.map { keeper in
            let shown = keeper.certificate
            return HubOverview.Certificate(
                names: shown.facts.names,
                expiresAt: Timestamp(shown.facts.notAfter).wholeSecond,
                isRenewed: shown.isRenewed
            )
        }
        let alarms = hub.alarms.record.counts(at: configuration.timestamp)
        overview.alarms = Dictionary(uniqueKeysWithValues: alarms.kinds.map { ($0.key.rawValue, $0.value) })
        overview.silencedAlarms = alarms.silenced
        overview.node = directory.nodeReport(hub.writer)
        return overview
    }

    private func note(_ status: HubStatus, in overview: inout HubOverview) {
        overview.installations = status.installationCounts.named
        overview.registrations = status.registrationCounts.named
        overview.openStreams = status.streamCount
        overview.scheduled = status.scheduled.messages
        overview.nextDue = status.scheduled.nextDue?.wholeSecond
    }

    private func note(_ counters: HubCounters, in overview: inout HubOverview) {
        overview.accepted = counters.accepted.count
        overview.repeated = counters.repeated.count
        overview.written = counters.streams.written.count
        for (kind, count) in counters.push.all {
            overview.pushOutcomes[kind.platform.rawValue, default: [:]][kind.outcome.rawValue] = count
        }
    }
}

extension [Platform: Int] {
    /// By the names of the platforms, as reports have them.
    fileprivate var named: [String: Int] { reduce(into: [:]) { $0["\($1.key)"] = $1.value } }
}
