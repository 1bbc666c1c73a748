import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

extension OperatorRoutes {
    /// The remaining time below which a certificate or credential is shown as a problem, unless it is renewed
    /// automatically.
    private static let expiryWarning = Duration.seconds(30 * 86_400)
    /// The largest number of categories on a page; each is counted.
    private static let shownCategories = 20

    static func overview(_ request: OperatorRequest) async throws -> Response {
        let overview = try await request.hub.overview()
        let publishers = try await request.hub.publishers()
        var page = request.page(.overview, "Overview of \(overview.hub)")
        page.sections = [
            OperatorSection("Hub", facts: hubFacts(overview) + nodeFacts(overview)),
            OperatorSection("Messages since the start", facts: messageFacts(overview)),
            alarmSection(overview, request),
            feedSection(publishers, request),
            OperatorSection("Credentials and certificate", facts: expiryFacts(overview, at: request.base.now)),
        ]
        return request.base.page(page)
    }

    private static func hubFacts(_ overview: HubOverview) -> [OperatorFact] {
        let log = overview.log
        var facts = [
            OperatorFact("Version", overview.version ?? "unknown"),
            OperatorFact("Started", OperatorText.time(overview.startedAt)),
            OperatorFact("Installations", OperatorText.counts(overview.installations)),
            OperatorFact("Registrations", OperatorText.counts(overview.registrations)),
            OperatorFact("Open streams", "\(overview.openStreams)"),
            OperatorFact("Changes waiting for a commit", "\(overview.waitingChanges)"),
            OperatorFact(
                "Log",
                "\(OperatorText.bytes(log.bytes)) of \(OperatorText.bytes(log.limitBytes))"
                    + (log.oldest.map { ", since \(OperatorText.time($0))" } ?? "")
            ),
            OperatorFact(
                "Dropped before they expired",
                Counted.text(log.droppedUnexpired, "message"),
                isBad: log.droppedUnexpired > 0
            ),
        ]
        if let failure = overview.failure {
            facts.append(OperatorFact("The hub cannot write or follow", failure, isBad: true))
        }
        return facts
    }

    private static func nodeFacts(_ overview: HubOverview) -> [OperatorFact] {
        guard let node = overview.node else { return [] }
        let own = OperatorFact("Node \(node.name)", "entry \(node.position) of \(node.logEnd) of the shared log")
        var facts = [own]
        if let obstacle = node.dutyObstacle {
            facts.append(OperatorFact("Duties", "none at this hub: \(obstacle)", isBad: true))
        }
        if let replicas = node.replicas, replicas.missing > 0 {
            let text = "\(replicas.current) of \(replicas.configured) servers have every entry"
            facts.append(OperatorFact("Replicas of the shared log", text, isBad: true))
        }
        return facts
            + node.peers.map { peer in
                OperatorFact(
                    "Node \(peer.name)",
                    "entry \(peer.position), reported \(peer.seenSecondsAgo) s ago",
                    isBad: peer.seenSecondsAgo > HubOverview.Node.silence
                )
            }
    }

    private static func messageFacts(_ overview: HubOverview) -> [OperatorFact] {
        var facts = [
            OperatorFact("Accepted", "\(overview.accepted)"),
            OperatorFact("Repeats that sent nothing", "\(overview.repeated)"),
            OperatorFact("Written to streams", "\(overview.written)"),
            OperatorFact(
                "Scheduled",
                "\(overview.scheduled)\(overview.nextDue.map { ", next at \(OperatorText.time($0))" } ?? "")"
            ),
        ]
        for (platform, outcomes) in overview.pushOutcomes.sorted(by: { $0.key < $1.key }) {
            facts.append(OperatorFact("Outcomes, \(platform)", OperatorText.counts(outcomes)))
        }
        for (platform, backlog) in overview.pushBacklog.sorted(by: { $0.key < $1.key }) {
            let text = "\(Counted.text(backlog.targets, "device")), \(Counted.text(backlog.messages, "message"))"
            facts.append(OperatorFact("Pending, \(platform)", text))
        }
        return facts
    }

    private static func expiryFacts(_ overview: HubOverview, at now: Timestamp) -> [OperatorFact] {
        var facts = overview.credentials.map { credential in
            let state = credential.isUsable ? "usable" : "not usable"
            let expiry = credential.expiresAt.map { "expires \(OperatorText.time($0))" }
            return OperatorFact(
                "Credential for \(credential.platform)",
                [state, credential.reason, expiry].compactMap { $0 }.joined(separator: ", "),
                isBad: !credential.isUsable || isNear(credential.expiresAt, now)
            )
        }
        if overview.credentials.isEmpty { facts.append(OperatorFact("Credentials", "none for a push service")) }
        if !overview.credentials.contains(where: { $0.platform == .browser }) {
            let text = "off: readers cannot switch them on until you set 'push-contact' and restart the hub"
            facts.append(OperatorFact("Notifications of browsers", text))
        }
        guard let certificate = overview.certificate else {
            return facts + [OperatorFact("TLS certificate", "none: the hub serves plain HTTP")]
        }
        let text = "expires \(OperatorText.time(certificate.expiresAt))"
        return facts + [
            OperatorFact(
                "TLS certificate",
                certificate.isRenewed ? "\(text), renewed automatically" : text,
                isBad: !certificate.isRenewed && isNear(certificate.expiresAt, now)
            ), OperatorFact("Names of the certificate", certificate.names.joined(separator: ", ")),
        ]
    }

    private static func isNear(_ expiry: String?, _ now: Timestamp) -> Bool {
        guard let date = expiry.flatMap({ ISODateTime.parse($0) }) else { return false }
        return Timestamp(date) < now + expiryWarning
    }
}

// MARK: - Categories

extension OperatorRoutes {
    static func categories(_ request: OperatorRequest) async throws -> Response {
        let names = try await request.hub.categories()
        let first = min(max(0, request.query["from"].flatMap { Int($0) } ?? 0), names.count)
        var rows: [[OperatorTable.Cell]] = []
        for name in names[first...].prefix(shownCategories) { rows.append(try await row(of: name, request)) }
        var page = request.page(.categories, "Categories")
        let table = OperatorTable(
            "Categories",
            ["Category", "Subscribers", "Last message", "Action"],
            rows,
            empty: "No publisher has announced a category."
        )
        page.sections = [OperatorSection(Counted.text(names.count, "category", "categories"), table: table)]
        let next = first + shownCategories
        if next < names.count {
            page.more = OperatorLink("More categories", href: "\(request.root)categories?from=\(next)")
        }
        return request.base.page(page)
    }

    private static func row(of name: String, _ request: OperatorRequest) async throws -> [OperatorTable.Cell] {
        let escaped = PercentEncoding.encode(name)
        let counts = try await request.hub.recipients(tags: name)
        let tags = (try? Tag(name)).map { [$0] } ?? []
        let last = try await request.hub.news(of: tags, language: nil, since: nil).storyVersions.first
        return [
            .init(name, link: "\(request.root)devices?by=tag&q=\(escaped)"),
            .init(OperatorText.counts(counts.platforms), isBad: counts.total == 0),
            .init(last.map { "\(OperatorText.time($0.at.wholeSecond)): \($0.title)" } ?? "none"),
            .init("Send", link: "\(request.root)send?category=\(escaped)"),
        ]
    }
}
