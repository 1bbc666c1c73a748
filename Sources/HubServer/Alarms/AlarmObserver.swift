import Alarms
import Certificates
import Foundation
import HubProtocol
import HubRouting
import HubStore

/// Collects the facts that one hub's alarms are judged by, in slices so that other work does not wait long.
struct AlarmObserver {
    /// Maximum number of watched categories; those in the settings come first, then those with a known message.
    static let maximumCategories = 10_000
    /// Maximum number of watched failing feeds, of one report and of the hub.
    static let maximumFeeds = 1_000
    /// Maximum number of reports that one look reads, each of up to 512 KiB; later looks read the others.
    static let maximumReports = 20
    /// Number of messages in one read, and of reads in one look.
    static let page = 1_000
    static let maximumPages = 200

    let hub: Hub
    /// The reports of publishers to this hub.
    let publishers: [PublisherSummary]
    /// True for the hub that represents its server in matters that all hubs share.
    let isPrimary: Bool
    let tls: CertificateReloader?
    /// This node and the others that share its log; `nil` if there are none.
    let node: HubOverview.Node?

    /// Observes the hub.
    ///
    /// - Parameter record: The stored state of the alarms, which is updated with the last sequence scanned.
    /// - Returns: The present facts.
    /// - Throws: A `DatabaseError`, or 404 if the hub was deleted.
    func facts(_ record: inout AlarmRecord) async throws -> AlarmFacts {
        var facts = AlarmFacts()
        facts.categories = try await categories(&record)
        for publisher in publishers {
            guard let date = ISODateTime.parse(publisher.reportedAt) else { continue }
            facts.publishers[publisher.publisher] = Timestamp(date)
            if publisher.schedule == .pass { facts.startedPublishers.insert(publisher.publisher) }
        }
        facts.feeds = try await feeds()
        facts.agents = try await agents(record.judge)
        for (platform, expiry) in hub.push.expiries { facts.credentials["\(platform)"] = expiry }
        for (platform, reason) in hub.push.refusals { facts.refusedCredentials["\(platform)"] = reason }
        for (platform, refusals) in hub.push.hostRefusals {
            for (host, reason) in refusals { facts.refusedCredentials["\(platform) at \(host)"] = reason }
        }
        guard isPrimary else { return facts }
        facts.missingReplicas = node?.replicas?.missing ?? 0
        for peer in node?.peers ?? [] where !peer.isSilent { facts.unfitHubs[peer.name] = peer.dutyObstacle }
        facts.dropped = Int64(try await hub.store.logSize().droppedBySize)
        if let certificate = tls?.certificate, !certificate.isRenewed {
            facts.certificates[certificate.facts.names.first ?? "the hub"] = Timestamp(certificate.facts.notAfter)
        }
        return facts
    }

    // MARK: Categories

    private func categories(_ record: inout AlarmRecord) async throws -> [String: LogSequence?] {
        let configuration = hub.configuration
        let known = record.judge.categoryPlaces
        let announced = try await hub.categories()
        // Categories in the settings keep the spelling that they have there, as do the rules. With Send, a client can
        // announce any number of categories: new ones do not displace those that are watched.
        let names =
            configuration.alarmRules.silences.keys.sorted() + announced.filter { known[$0] != nil }
            + announced.filter { known[$0] == nil }
        // Otherwise an alarm about a category would end it.
        let tags = names.lazy.compactMap { try? Tag($0) }.filter { $0 != configuration.alarmTag }
            .prefix(Self.maximumCategories)
        var places: [Tag: LogSequence?] = [:]
        for tag in tags where places[tag] == nil { places[tag] = .some(known[tag.text]) }
        var audiences: [String: [Tag]] = [:]
        // Messages from before the first look are not scanned.
        var after = record.scanned ?? hub.status.head
        for _ in 0..<Self.maximumPages {
            let messages = try await hub.store.tags(hub: hub.record.id, after: after, limit: Self.page)
            for message in messages {
                after = message.sequence
                guard let text = message.tags else { continue }
                let audience = audiences[text] ?? Self.audience(text).filter { places[$0] != nil }
                audiences[text] = audience
                for tag in audience { places[tag] = .some(message.sequence) }
            }
            guard messages.count == Self.page else { break }
            // Senders may use a new expression for each message.
            if audiences.count > Self.page { audiences = [:] }
        }
        record.scanned = after
        return Dictionary(places.map { ($0.key.text, $0.value) }) { first, _ in first }
    }

    /// The tags that a message is addressed to, alone or in combination.
    private static func audience(_ text: String) -> [Tag] {
        guard let expression = try? TagExpression(parsing: text, limits: .stored) else { return [] }
        let tags = expression.tags
        return tags.filter { tag in
            expression.matches { $0 == tag } || (tags.count > 1 && expression.matches { _ in true })
        }
    }

    // MARK: Feeds

    /// The failing feeds that the reports read so far name.
    private func feeds() async throws -> [AlarmFacts.Feed] {
        var reports = hub.alarms.reports
        let failing = publishers.filter { $0.failedFeeds > 0 }
        let names = Set(failing.map(\.publisher))
        reports = reports.filter { names.contains($0.key) }
        // Reports that were read longest ago come first.
        let due = failing.filter { reports[$0.publisher]?.reportedAt != $0.reportedAt }
            .sorted { (reports[$0.publisher]?.reportedAt ?? "") < (reports[$1.publisher]?.reportedAt ?? "") }
        for publisher in due.prefix(Self.maximumReports) {
            reports[publisher.publisher] = try await read(publisher)
        }
        hub.alarms.reports = reports
        return Self.watched(reports.sorted { $0.key < $1.key }.map(\.value.failing))
    }

    /// Chooses the feeds to watch, and returns all reports of them.
    ///
    /// Publishers take turns: with Send, a client can invent failing feeds, which must not displace those of others.
    private static func watched(_ reports: [[AlarmFacts.Feed]]) -> [AlarmFacts.Feed] {
        var urls: Set<String> = []
        for turn in 0..<maximumFeeds {
            for feeds in reports where turn < feeds.count && urls.count < maximumFeeds { urls.insert(feeds[turn].url) }
        }
        // All reports of a feed: one of them must not hide that the feed has failed for longer elsewhere.
        return reports.joined().filter { urls.contains($0.url) }
    }

    private func read(_ publisher: PublisherSummary) async throws -> HubAlarms.ReadReport {
        let status = try await hub.store.report(hub: hub.record.id, publisher: publisher.publisher, since: .distantPast)
        let failing = (status?.report.feeds ?? []).compactMap { feed -> AlarmFacts.Feed? in
            guard feed.isFailing, let since = feed.failingSince.flatMap({ ISODateTime.parse($0) }) else { return nil }
            return AlarmFacts.Feed(publisher: publisher.publisher, url: feed.url, failingSince: Timestamp(since))
        }
        return HubAlarms.ReadReport(
            reportedAt: publisher.reportedAt,
            failing: Array(failing.sorted { $0.url < $1.url }.prefix(Self.maximumFeeds))
        )
    }

    // MARK: Agents

    /// The agents named in the settings, once they have registered for the first time.
    private func agents(_ judge: AlarmJudge) async throws -> [String: Bool] {
        let expected = hub.configuration.alarmAgents
        guard !expected.isEmpty else { return [:] }
        let open = try await hub.ask { view in
            expected.map { id in view.registry[id].map { view.hasStream($0.ordinal) } }
        }
        var agents: [String: Bool] = [:]
        let now = hub.configuration.monotonic()
        for (id, isOpen) in zip(expected, open) {
            guard isOpen != nil || judge.knows(agent: id.text) else { continue }
            agents[id.text] = isOpen == true || hub.alarms.isElsewhere(id.text, at: now)
        }
        return agents
    }
}
