import Foundation
import HubProtocol
import HubRouting
import HubStore
import HubStreams
import NIOCore
import PrometheusText
import Synchronization

/// The content of `/metrics`: the values that an operator watches and is alerted on.
///
/// The names are stable; `docs/monitoring.md` lists them. The page contains no data of messages, devices or keys.
struct MetricsPage: Sendable {
    typealias Metric = PrometheusText.Metric
    typealias Sample = PrometheusText.Sample

    let served: ServedHubs
    let responses: ResponseCounts
    let applications: [MountedApplication]
    /// Seconds since 1970.
    let startedAt: Double

    /// The present text of the page.
    func text() async throws -> String {
        var page = PrometheusText(messages)
        page.add(try await streams())
        page.add(try await publishers())
        page.add(alarms)
        page.add(writer)
        page.add(try await log())
        page.add(node)
        page.add([
            (
                "newswire_http_responses_total", .counter,
                "Requests answered, by operation and status; 4xx and 5xx were refused.",
                responses.sorted.map {
                    .init($0.count, ["operation": $0.key.operation, "status": "\($0.key.status)"])
                }
            )
        ])
        page.add(ServerMetrics(version: configuration.version, startedAt: startedAt).metrics)
        var text = page.text
        for application in applications { text += await application.metrics() }
        return text
    }

    private var messages: [Metric] {
        [
            (
                "newswire_messages_accepted_total", .counter, "Messages that the hub accepted.",
                byHub { $0.counters.accepted.count }
            ),
            (
                "newswire_messages_repeated_total", .counter, "Repeated sends, recognized by their key.",
                byHub { $0.counters.repeated.count }
            ),
            (
                "newswire_messages_written_total", .counter, "Messages written to streams, counted for each stream.",
                byHub { $0.counters.streams.written.count }
            ),
            (
                "newswire_messages_oversize_total", .counter, "Renderings that were too large to send.",
                byHub { $0.counters.streams.oversize.count }
            ),
            (
                "newswire_messages_owed_total", .counter,
                "Recipients of messages: installations of platform stream, registrations or handles of other platforms.",
                byPlatform { hub in hub.counters.matched.withLock { counts in counts } }
            ),
            (
                "newswire_push_outcomes_total", .counter,
                "Targets of push services with a final outcome, by platform and outcome.",
                samples { hub, name in
                    hub.counters.push.all.sorted { "\($0.key)" < "\($1.key)" }.map { kind, count in
                        .init(count, ["hub": name, "platform": "\(kind.platform)", "outcome": "\(kind.outcome)"])
                    }
                }
            ),
            (
                "newswire_push_credential_refused", .gauge,
                "1 for a credential that its push service refuses, or that cannot be used; with a host, for that host.",
                samples(refusedCredentials)
            ),
            (
                "newswire_push_paused", .gauge,
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
            ),
            (
                "newswire_push_credential_expires_timestamp_seconds", .gauge,
                "Expiry of a credential for a push service, in seconds since 1970.",
                byPlatform { $0.push.expiries.mapValues(\.seconds) }
            ),
            (
                "newswire_messages_scheduled", .gauge, "Scheduled messages that have not been sent yet.",
                byHub { $0.status.scheduled.messages }
            ),
            (
                "newswire_stream_gaps_total", .counter, "Gaps sent to streams because pending messages are gone.",
                byHub { $0.counters.streams.gaps.count }
            ),
            (
                "newswire_listen_items", .gauge, "Installations and registrations that were last written with Listen.",
                byHub { $0.status.listenUsage.count }
            ),
            (
                "newswire_listen_bytes", .gauge,
                "Size of the installations and registrations last written with Listen, as the quota counts it.",
                byHub { $0.status.listenUsage.bytes }
            ),
            (
                "newswire_installations", .gauge, "Registered installations.",
                byPlatform(\.status.installationCounts)
            ),
            (
                "newswire_registrations", .gauge,
                "Native and template registrations, including those of installations.",
                byPlatform(\.status.registrationCounts)
            ),
        ]
    }

    private func refusedCredentials(_ hub: Hub, _ name: String) -> [Sample] {
        hub.push.refusals.keys.sorted().map { .init(1, ["hub": name, "platform": "\($0)"]) }
            + hub.push.hostRefusals.sorted { $0.key < $1.key }.flatMap { platform, refusals in
                refusals.keys.sorted().map { .init(1, ["hub": name, "platform": "\(platform)", "host": $0]) }
            }
    }

    private func streams() async throws -> [Metric] {
        var (open, behind): ([Sample], [Sample]) = ([], [])
        for member in served.directory.all {
            var census = StreamLoop.Census()
            for loop in member.loops { census += try await loop.eventLoop.submit { loop.census }.get() }
            let name = "\(member.hub.record.name)"
            open.append(.init(census.open, ["hub": name]))
            behind.append(.init(census.behind, ["hub": name]))
        }
        return [
            ("newswire_streams", .gauge, "Open streams.", open),
            ("newswire_streams_behind", .gauge, "Open streams with pending messages.", behind),
        ]
    }

    private var writer: [Metric] {
        let backlog = served.writer.backlog
        return [
            (
                "newswire_writer_healthy", .gauge,
                "1 while commits succeed, 0 while the hub cannot write its file or follow the log that it shares.",
                [.init(served.writer.health.failureReason == nil ? 1 : 0)]
            ),
            ("newswire_writer_waiting", .gauge, "Changes that wait for a commit.", [.init(backlog.changes)]),
            (
                "newswire_writer_oldest_seconds", .gauge,
                "Time for which the oldest change has waited for its commit.", [.init(backlog.oldest.seconds)]
            ),
        ]
    }

    /// The log that several servers share.
    private var node: [Metric] {
        guard let node = served.directory.nodeReport(served.writer) else { return [] }
        let clocks = [(node.name, node.clockAheadSeconds)] + node.peers.map { ($0.name, $0.clockAheadSeconds) }
        return [
            (
                "newswire_node_log_available", .gauge, "1 while this node follows the log that the nodes share.",
                [.init(node.cutOffSeconds == nil ? 1 : 0)]
            ),
            (
                "newswire_node_log_position", .gauge,
                "The last entry of the shared log that a node has, as it last reported.",
                [.init(Int(clamping: node.position), ["node": node.name])]
                    + node.peers.map { .init(Int(clamping: $0.position), ["node": $0.name]) }
            ),
            (
                "newswire_node_log_end", .gauge, "The last entry of the shared log that this node knows of.",
                [.init(Int(clamping: node.logEnd))]
            ),
            (
                "newswire_node_seen_seconds", .gauge, "Time since the last report of another node.",
                node.peers.map { .init($0.seenSecondsAgo, ["node": $0.name]) }
            ),
            (
                "newswire_node_clock_ahead_seconds", .gauge,
                "Time by which a node's clock is ahead of the median of the nodes and of the log's servers.",
                clocks.compactMap { name, ahead in ahead.map { Sample($0, ["node": name]) } }
            ),
            (
                "newswire_node_log_replicas", .gauge, "Servers that are to keep the shared log.",
                node.replicas.map { [.init($0.configured)] } ?? []
            ),
            (
                "newswire_node_log_replicas_current", .gauge, "Servers that have every entry of the shared log.",
                node.replicas.map { [.init($0.current)] } ?? []
            ),
            (
                "newswire_node_may_have_duties", .gauge,
                "0 while this node takes no duties, because of its clock or its secrets.key.",
                [.init(node.dutyObstacle == nil ? 1 : 0)]
            ),
        ]
    }

    private func log() async throws -> [Metric] {
        let (log, changes) = (try await served.store.logSize(), try await served.store.changeSize())
        let age = log.oldest.map { max(configuration.timestamp - $0, .zero).seconds } ?? 0
        return [
            ("newswire_log_bytes", .gauge, "Size of the messages in the log.", [.init(log.bytes)]),
            (
                "newswire_log_limit_bytes", .gauge,
                "Size above which the oldest messages are dropped before they expire.",
                [.init(configuration.maximumLogBytes)]
            ),
            ("newswire_registry_changes", .gauge, "Registry changes that are stored.", [.init(changes.rows)]),
            (
                "newswire_registry_change_bytes", .gauge,
                "Size of the stored registry changes, with the former choices of installations.",
                [.init(changes.bytes)]
            ),
            (
                "newswire_registry_change_limit_bytes", .gauge,
                "Size above which the oldest registry changes are dropped.", [.init(configuration.maximumChangeBytes)]
            ),
            ("newswire_log_oldest_seconds", .gauge, "Age of the oldest row of the log.", [.init(age)]),
            (
                "newswire_log_time_to_live_seconds", .gauge, "Time after which a pending message expires.",
                [.init(configuration.timeToLive.seconds)]
            ),
            (
                "newswire_log_dropped_unexpired_total", .counter,
                "Messages dropped because the log was full before they expired, since the hub was created.",
                [.init(log.droppedBySize)]
            ),
            (
                "newswire_database_bytes", .gauge, "Size of the hub's files.",
                [("", "database"), ("-wal", "write-ahead log")].map { suffix, file in
                    let path = configuration.databasePath + suffix
                    let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
                    return .init(size ?? 0, ["file": file])
                }
            ),
        ]
    }

    var configuration: HubConfiguration { served.configuration }
    var members: [Hub] { served.directory.hubs }

    private func samples(_ of: (Hub, _ name: String) -> [Sample]) -> [Sample] {
        members.flatMap { of($0, "\($0.record.name)") }
    }

    private func byHub(_ value: (Hub) -> Int) -> [Sample] {
        samples { hub, name in [.init(value(hub), ["hub": name])] }
    }

    private func byPlatform<Key: Comparable, Value: BinaryInteger>(_ values: (Hub) -> [Key: Value]) -> [Sample] {
        samples { hub, name in
            values(hub).sorted { $0.key < $1.key }.map { .init($0.value, ["hub": name, "platform": "\($0.key)"]) }
        }
    }
}

extension Duration {
    var seconds: Double { Double(milliseconds) / 1000 }
}
