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

    /// A figure of the server.
    private typealias Figure = (name: String, kind: PrometheusText.Kind, help: String, value: Double)
    /// A figure that each hub has.
    private typealias OfHub = (name: String, kind: PrometheusText.Kind, help: String, value: (Hub) -> Int)

    private func addMessages(to page: inout PrometheusText) {
        let messages: [OfHub] = [
            (
                "newswire_messages_accepted_total", .counter, "Messages that the hub accepted.",
                { $0.counters.accepted.count }
            ),
            (
                "newswire_messages_repeated_total", .counter, "Repeated sends, recognized by their key.",
                { $0.counters.repeated.count }
            ),
            (
                "newswire_messages_written_total", .counter, "Messages written to streams, counted for each stream.",
                { $0.counters.streams.written.count }
            ),
            (
                "newswire_messages_oversize_total", .counter, "Renderings that were too large to send.",
                { $0.counters.streams.oversize.count }
            ),
        ]
        add(messages, to: &page)
        page.add(
            "newswire_messages_owed_total",
            .counter,
            "Recipients of messages: installations of platform stream, registrations or handles of other platforms.",
            byPlatform { hub in hub.counters.matched.withLock { counts in counts } }
        )
        page.add(
            "newswire_push_outcomes_total",
            .counter,
            "Targets of push services with a final outcome, by platform and outcome.",
            samples { hub, name in
                hub.counters.push.all.sorted { "\($0.key)" < "\($1.key)" }.map { kind, count in
                    .init(count, ["hub": name, "platform": "\(kind.platform)", "outcome": "\(kind.outcome)"])
                }
            }
        )
        page.add(
            "newswire_push_credential_refused",
            .gauge,
            "1 for a credential that its push service refuses, or that cannot be used; with a host, for that host.",
            samples { hub, name in
                hub.push.refusals.keys.sorted().map { .init(1, ["hub": name, "platform": "\($0)"]) }
                    + hub.push.hostRefusals.sorted { $0.key < $1.key }.flatMap { platform, refusals in
                        refusals.keys.sorted().map { .init(1, ["hub": name, "platform": "\(platform)", "host": $0]) }
                    }
            }
        )
        page.add(
            "newswire_push_paused",
            .gauge,
            "1 for a push service that keeps failing or has asked for a pause; with a host, for that host.",
            samples { hub, name in
                hub.push.pauses(at: configuration.timestamp).sorted { $0.key < $1.key }.flatMap { platform, hosts in
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
            byPlatform { $0.push.expiries.mapValues(\.seconds) }
        )
        let stored: [OfHub] = [
            (
                "newswire_messages_scheduled", .gauge, "Scheduled messages that have not been sent yet.",
                { $0.status.scheduled.messages }
            ),
            (
                "newswire_stream_gaps_total", .counter, "Gaps sent to streams because pending messages are gone.",
                { $0.counters.streams.gaps.count }
            ),
            (
                "newswire_listen_items", .gauge, "Installations and registrations that were last written with Listen.",
                { $0.status.listenUsage.count }
            ),
            (
                "newswire_listen_bytes", .gauge,
                "Size of the installations and registrations last written with Listen, as the quota counts it.",
                { $0.status.listenUsage.bytes }
            ),
        ]
        add(stored, to: &page)
        page.add(
            "newswire_installations",
            .gauge,
            "Registered installations.",
            byPlatform(\.status.installationCounts)
        )
        page.add(
            "newswire_registrations",
            .gauge,
            "Native and template registrations, including those of installations.",
            byPlatform(\.status.registrationCounts)
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
        let figures: [Figure] = [
            (
                "newswire_writer_healthy", .gauge,
                "1 while commits succeed, 0 while the hub cannot write its file or follow the log that it shares.",
                served.writer.health.failureReason == nil ? 1 : 0
            ),
            ("newswire_writer_waiting", .gauge, "Changes that wait for a commit.", Double(backlog.changes)),
            (
                "newswire_writer_oldest_seconds", .gauge,
                "Time for which the oldest change has waited for its commit.", backlog.oldest.seconds
            ),
        ]
        add(figures, to: &page)
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
        let (log, changes) = (try await served.store.logSize(), try await served.store.changeSize())
        let age = log.oldest.map { max(configuration.timestamp - $0, .zero).seconds } ?? 0
        let figures: [Figure] = [
            ("newswire_log_bytes", .gauge, "Size of the messages in the log.", Double(log.bytes)),
            (
                "newswire_log_limit_bytes", .gauge,
                "Size above which the oldest messages are dropped before they expire.",
                Double(configuration.maximumLogBytes)
            ),
            ("newswire_registry_changes", .gauge, "Registry changes that are stored.", Double(changes.rows)),
            (
                "newswire_registry_change_bytes", .gauge,
                "Size of the stored registry changes, with the former choices of installations.", Double(changes.bytes)
            ),
            (
                "newswire_registry_change_limit_bytes", .gauge,
                "Size above which the oldest registry changes are dropped.", Double(configuration.maximumChangeBytes)
            ),
            ("newswire_log_oldest_seconds", .gauge, "Age of the oldest row of the log.", age),
            (
                "newswire_log_time_to_live_seconds", .gauge, "Time after which a pending message expires.",
                configuration.timeToLive.seconds
            ),
            (
                "newswire_log_dropped_unexpired_total", .counter,
                "Messages dropped because the log was full before they expired, since the hub was created.",
                Double(log.droppedBySize)
            ),
        ]
        add(figures, to: &page)
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

    private func add(_ figures: [Figure], to page: inout PrometheusText) {
        for (name, kind, help, value) in figures { page.add(name, kind, help, [.init(value)]) }
    }

    private func add(_ figures: [OfHub], to page: inout PrometheusText) {
        for (name, kind, help, value) in figures {
            page.add(name, kind, help, samples { hub, name in [.init(value(hub), ["hub": name])] })
        }
    }

    private func samples(_ of: (Hub, _ name: String) -> [PrometheusText.Sample]) -> [PrometheusText.Sample] {
        members.flatMap { of($0, "\($0.record.name)") }
    }

    private func byPlatform<Key: Comparable, Value: BinaryInteger>(
        _ values: (Hub) -> [Key: Value]
    ) -> [PrometheusText.Sample] {
        samples { hub, name in
            values(hub).sorted { $0.key < $1.key }.map { .init($0.value, ["hub": name, "platform": "\($0.key)"]) }
        }
    }
}

extension Duration {
    var seconds: Double { Double(milliseconds) / 1000 }
}
