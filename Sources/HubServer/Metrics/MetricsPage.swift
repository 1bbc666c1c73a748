import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import HubStreams
import Hummingbird
import NIOCore
import PrometheusText
import Synchronization

/// The content of `/metrics`: the values that an operator watches and is alerted on.
///
/// The names are stable; `docs/monitoring.md` lists them. The page contains no data of messages, devices or keys.
struct MetricsPage: Sendable {
    let served: ServedHubs
    let responses: ResponseCounts
    let applications: [MountedApplication]
    /// Seconds since 1970.
    let startedAt: Double

    /// The present text of the page.
    func text() async throws -> ByteBuffer {
        var page = PrometheusText()
        addMessages(to: &page)
        try await addStreams(to: &page)
        try await addPublishers(to: &page)
        addAlarms(to: &page)
        addWriter(to: &page)
        try await addLog(to: &page)
        addNode(to: &page)
        page.add(
            "newswire_http_responses_total",
            .counter,
            "Requests answered, by operation and status; 4xx and 5xx were refused.",
            responses.sorted.map { .init($0.count, ["operation": $0.key.operation, "status": "\($0.key.status)"]) }
        )
        ServerMetrics(version: configuration.version, startedAt: startedAt).add(to: &page)
        var text = page.text
        for application in applications { text += await application.metrics() }
        return ByteBuffer(string: text)
    }

    static func response(_ bytes: ByteBuffer) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: PrometheusText.contentType, .cacheControl: "no-store"],
            body: .init(byteBuffer: bytes)
        )
    }

    private func addMessages(to page: inout PrometheusText) {
        let counted: [(String, String, (HubCounters) -> Int)] = [
            ("newswire_messages_accepted_total", "Messages that the hub accepted.", { $0.accepted.count }),
            ("newswire_messages_repeated_total", "Repeated sends, recognized by their key.", { $0.repeated.count }),
            (
                "newswire_messages_written_total", "Messages written to streams, counted for each stream.",
                { $0.streams.written.count }
            ),
            (
                "newswire_messages_oversize_total", "Renderings that were too large to send.",
                { $0.streams.oversize.count }
            ),
        ]
        for (name, help, count) in counted {
            page.add(name, .counter, help, each { count($0.counters) })
        }
        page.add(
            "newswire_messages_owed_total",
            .counter,
            "Recipients of messages: installations of platform stream, registrations or handles of other platforms.",
            members.flatMap { hub -> [PrometheusText.Sample] in
                let matched = hub.counters.matched.withLock { counts in counts }
                return matched.sorted { $0.key < $1.key }.map { platform, count in
                    .init(count, ["hub": "\(hub.record.name)", "platform": platform])
                }
            }
        )
        page.add(
            "newswire_push_outcomes_total",
            .counter,
            "Targets of push services with a final outcome, by platform and outcome.",
            members.flatMap { hub in
                hub.counters.push.all.sorted { "\($0.key)" < "\($1.key)" }.map { kind, count in
                    .init(
                        count,
                        ["hub": "\(hub.record.name)", "platform": "\(kind.platform)", "outcome": "\(kind.outcome)"]
                    )
                }
            }
        )
        page.add(
            "newswire_push_credential_refused",
            .gauge,
            "1 for a credential that its push service refuses, or that cannot be used; with a host, for that host.",
            members.flatMap { hub -> [PrometheusText.Sample] in
                let name = "\(hub.record.name)"
                let hosts = hub.push.hostRefusals.sorted { $0.key < $1.key }
                return hub.push.refusals.keys.sorted().map { .init(1, ["hub": name, "platform": "\($0)"]) }
                    + hosts.flatMap { platform, refusals in
                        refusals.keys.sorted().map { .init(1, ["hub": name, "platform": "\(platform)", "host": $0]) }
                    }
            }
        )
        page.add(
            "newswire_push_paused",
            .gauge,
            "1 for a push service that keeps failing or has asked for a pause; with a host, for that host.",
            members.flatMap { hub -> [PrometheusText.Sample] in
                let name = "\(hub.record.name)"
                return hub.push.pauses(at: configuration.timestamp).sorted { $0.key < $1.key }.flatMap {
                    platform,
                    hosts in
                    hosts.map { host in
                        host.isEmpty
                            ? .init(1, ["hub": name, "platform": "\(platform)"])
                            : .init(1, ["hub": name, "platform": "\(platform)", "host": host])
                    }
                }
            }
        )
        page.add(
            "newswire_push_credential_expires_timestamp_seconds",
            .gauge,
            "Expiry of a credential for a push service, in seconds since 1970.",
            members.flatMap { hub in
                hub.push.expiries.sorted { $0.key < $1.key }.map {
                    .init($0.value.seconds, ["hub": "\(hub.record.name)", "platform": "\($0.key)"])
                }
            }
        )
        page.add(
            "newswire_messages_scheduled",
            .gauge,
            "Scheduled messages that have not been sent yet.",
            members.map { hub in
                .init(hub.status.scheduled.messages, ["hub": "\(hub.record.name)"])
            }
        )
        page.add(
            "newswire_stream_gaps_total",
            .counter,
            "Gaps sent to streams because pending messages are gone.",
            each { $0.counters.streams.gaps.count }
        )
        page.add(
            "newswire_listen_items",
            .gauge,
            "Installations and registrations that were last written with Listen.",
            members.map { hub in
                .init(hub.status.listenUsage.count, ["hub": "\(hub.record.name)"])
            }
        )
        page.add(
            "newswire_listen_bytes",
            .gauge,
            "Size of the installations and registrations last written with Listen, as the quota counts it.",
            members.map { hub in
                .init(hub.status.listenUsage.bytes, ["hub": "\(hub.record.name)"])
            }
        )
        page.add(
            "newswire_installations",
            .gauge,
            "Registered installations.",
            members.flatMap { hub in
                hub.status.installationCounts.sorted { $0.key < $1.key }.map {
                    platform,
                    count in
                    .init(count, ["hub": "\(hub.record.name)", "platform": "\(platform)"])
                }
            }
        )
        page.add(
            "newswire_registrations",
            .gauge,
            "Native and template registrations, including those of installations.",
            members.flatMap { hub in
                hub.status.registrationCounts.sorted { $0.key < $1.key }.map {
                    platform,
                    count in
                    .init(count, ["hub": "\(hub.record.name)", "platform": "\(platform)"])
                }
            }
        )
    }

    private func addStreams(to page: inout PrometheusText) async throws {
        var open: [PrometheusText.Sample] = []
        var behind: [PrometheusText.Sample] = []
        for member in served.directory.all {
            var census = StreamLoop.Census()
            for loop in member.loops { census += try await loop.eventLoop.submit { loop.census }.get() }
            let name = "\(member.hub.record.name)"
            open.append(.init(census.open, ["hub": name]))
            behind.append(.init(census.behind, ["hub": name]))
        }
        page.add("newswire_streams", .gauge, "Open streams.", open)
        page.add("newswire_streams_behind", .gauge, "Open streams with pending messages.", behind)
    }

    private func addWriter(to page: inout PrometheusText) {
        let backlog = served.writer.backlog
        page.add(
            "newswire_writer_healthy",
            .gauge,
            "1 while commits succeed, 0 while the hub cannot write its file or follow the log that it shares.",
            [.init(served.writer.health.failureReason == nil ? 1 : 0)]
        )
        page.add("newswire_writer_waiting", .gauge, "Changes that wait for a commit.", [.init(backlog.changes)])
        page.add(
            "newswire_writer_oldest_seconds",
            .gauge,
            "Time for which the oldest change has waited for its commit.",
            [.init(backlog.oldest.seconds)]
        )
    }

    /// The log that several servers share.
    private func addNode(to page: inout PrometheusText) {
        guard let node = served.directory.nodeReport(served.writer) else { return }
        page.add(
            "newswire_node_log_available",
            .gauge,
            "1 while this node follows the log that the nodes share.",
            [.init(node.cutOffSeconds == nil ? 1 : 0)]
        )
        page.add(
            "newswire_node_log_position",
            .gauge,
            "The last entry of the shared log that a node has, as it last reported.",
            [.init(Int(clamping: node.position), ["node": node.name])]
                + node.peers.map { .init(Int(clamping: $0.position), ["node": $0.name]) }
        )
        page.add(
            "newswire_node_log_end",
            .gauge,
            "The last entry of the shared log that this node knows of.",
            [.init(Int(clamping: node.logEnd))]
        )
        page.add(
            "newswire_node_seen_seconds",
            .gauge,
            "Time since the last report of another node.",
            node.peers.map { .init($0.seenSecondsAgo, ["node": $0.name]) }
        )
        let clocks = [(node.name, node.clockAheadSeconds)] + node.peers.map { ($0.name, $0.clockAheadSeconds) }
        page.add(
            "newswire_node_clock_ahead_seconds",
            .gauge,
            "Time by which a node's clock is ahead of the median of the nodes and of the log's servers.",
            clocks.compactMap { name, ahead in ahead.map { PrometheusText.Sample($0, ["node": name]) } }
        )
        if let replicas = node.replicas {
            page.add(
                "newswire_node_log_replicas",
                .gauge,
                "Servers that are to keep the shared log.",
                [.init(replicas.configured)]
            )
            page.add(
                "newswire_node_log_replicas_current",
                .gauge,
                "Servers that have every entry of the shared log.",
                [.init(replicas.current)]
            )
        }
        page.add(
            "newswire_node_may_have_duties",
            .gauge,
            "0 while this node takes no duties, because of its clock or its secrets.key.",
            [.init(node.dutyObstacle == nil ? 1 : 0)]
        )
    }

    private func addLog(to page: inout PrometheusText) async throws {
        let log = try await served.store.logSize()
        let age = log.oldest.map { max(configuration.timestamp - $0, .zero).seconds } ?? 0
        page.add("newswire_log_bytes", .gauge, "Size of the messages in the log.", [.init(log.bytes)])
        page.add(
            "newswire_log_limit_bytes",
            .gauge,
            "Size above which the oldest messages are dropped before they expire.",
            [.init(configuration.maximumLogBytes)]
        )
        let changes = try await served.store.changeSize()
        page.add("newswire_registry_changes", .gauge, "Registry changes that are stored.", [.init(changes.rows)])
        page.add(
            "newswire_registry_change_bytes",
            .gauge,
            "Size of the stored registry changes, with the former choices of installations.",
            [.init(changes.bytes)]
        )
        page.add(
            "newswire_registry_change_limit_bytes",
            .gauge,
            "Size above which the oldest registry changes are dropped.",
            [.init(configuration.maximumChangeBytes)]
        )
        page.add("newswire_log_oldest_seconds", .gauge, "Age of the oldest row of the log.", [.init(age)])
        page.add(
            "newswire_log_time_to_live_seconds",
            .gauge,
            "Time after which a pending message expires.",
            [.init(configuration.timeToLive.seconds)]
        )
        page.add(
            "newswire_log_dropped_unexpired_total",
            .counter,
            "Messages dropped because the log was full before they expired, since the hub was created.",
            [.init(log.droppedBySize)]
        )
        page.add(
            "newswire_database_bytes",
            .gauge,
            "Size of the hub's files.",
            ["", "-wal"].map { suffix in
                let path = configuration.databasePath + suffix
                let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
                return .init(size ?? 0, ["file": suffix.isEmpty ? "database" : "write-ahead log"])
            }
        )
    }

    var configuration: HubConfiguration { served.configuration }
    var members: [Hub] { served.directory.hubs }

    private func each(_ value: (Hub) -> Int) -> [PrometheusText.Sample] {
        members.map { .init(value($0), ["hub": "\($0.record.name)"]) }
    }
}

extension Duration {
    fileprivate var seconds: Double { Double(milliseconds) / 1000 }
}
