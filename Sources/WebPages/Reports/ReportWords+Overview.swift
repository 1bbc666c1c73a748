package import HubProtocol

extension ReportWords {
    /// The remaining time below which a certificate or credential is shown as a problem, unless it is renewed
    /// automatically.
    private static let expiryWarning = Duration.seconds(30 * 86_400)

    /// Returns the parts of an overview, each with a heading.
    ///
    /// - Parameters:
    ///   - overview: The hub's report.
    ///   - now: The present time, by which an expiry is near.
    ///   - alarmLink: The link to the alarms, for pages.
    /// - Returns: The hub, its messages, alarms, and credentials with the certificate.
    package func sections(
        _ overview: HubOverview,
        at now: Timestamp,
        alarmLink: OperatorLink? = nil
    ) -> [OperatorSection] {
        [
            OperatorSection("Hub", facts: hub(overview) + (overview.node.map(facts) ?? [])),
            OperatorSection("Messages since the start", facts: messages(overview)),
            OperatorSection("Alarms", facts: alarms(overview), link: alarmLink),
            OperatorSection("Credentials and certificate", facts: expiries(overview, at: now)),
        ]
    }

    private func hub(_ overview: HubOverview) -> [ReportFact] {
        let log = overview.log
        let dropped = log.droppedUnexpired
        let facts = [
            ReportFact("Name", overview.hub), ReportFact("Version", overview.version ?? "unknown"),
            ReportFact("Started", time(overview.startedAt)),
            ReportFact("Installations", counts(overview.installations)),
            ReportFact("Registrations", counts(overview.registrations)),
            ReportFact("Open streams", "\(overview.openStreams)"),
            ReportFact("Changes waiting for a commit", "\(overview.waitingChanges)"),
            ReportFact(
                "Log",
                "\(bytes(log.bytes)) of \(bytes(log.limitBytes))" + (log.oldest.map { ", since \(time($0))" } ?? "")
            ), ReportFact("Dropped before they expired", Counted.text(dropped, "message"), isBad: dropped > 0),
            ReportFact("Writer", overview.failure.map { "cannot write or follow: \($0)" }, isBad: true),
        ]
        return facts.compactMap(\.self)
    }

    private func messages(_ overview: HubOverview) -> [ReportFact] {
        let facts = [
            ReportFact("Accepted", "\(overview.accepted)"),
            ReportFact("Repeats that sent nothing", "\(overview.repeated)"),
            ReportFact("Written to streams", "\(overview.written)"),
            ReportFact(
                "Scheduled",
                "\(overview.scheduled)" + (overview.nextDue.map { ", next at \(time($0))" } ?? "")
            ),
        ]
        return facts.compactMap(\.self) + .init(overview.pushOutcomes, { "Outcomes, \($0)" }, { counts($1) })
            + .init(overview.pushBacklog, { "Pending, \($0)" }) { _, backlog in
                "\(Counted.text(backlog.targets, "device")), \(Counted.text(backlog.messages, "message"))"
            }
    }

    private func alarms(_ overview: HubOverview) -> [ReportFact] {
        // An older hub does not report them.
        let active = overview.alarms.map { counts($0) } ?? "not reported"
        let silenced = overview.silencedAlarms ?? 0
        let isBad = overview.alarms?.values.reduce(0, +) ?? 0 > silenced
        let facts = [
            ReportFact("Active alarms", active, isBad: isBad),
            ReportFact("Silenced", overview.alarms == nil ? nil : "\(silenced)"),
        ]
        return facts.compactMap(\.self)
    }

    private func expiries(_ overview: HubOverview, at now: Timestamp) -> [ReportFact] {
        func isNear(_ expiry: String?) -> Bool {
            expiry.flatMap { ISODateTime.parse($0) }.map { Timestamp($0) < now + Self.expiryWarning } ?? false
        }
        let credentials = overview.credentials.map { credential in
            ReportFact(
                "Credential for \(credential.platform)",
                parts(credential).joined(separator: ", "),
                isBad: !credential.isUsable || isNear(credential.expiresAt)
            )
        }
        let hasBrowsers = overview.credentials.contains { $0.platform == .browser }
        let certificate = overview.certificate
        let isRenewed = certificate?.isRenewed ?? false
        let expiry = certificate.map { "expires \(time($0.expiresAt))" } ?? "none: the hub serves plain HTTP"
        let off = "off: readers cannot switch them on until you set 'push-contact' and restart the hub"
        let others = [
            ReportFact("Credentials", credentials.isEmpty ? "none for a push service" : nil),
            ReportFact("Notifications of browsers", hasBrowsers ? nil : off),
            ReportFact(
                "Certificate",
                isRenewed ? "\(expiry), renewed automatically" : expiry,
                isBad: !isRenewed && isNear(certificate?.expiresAt)
            ), ReportFact("Names of the certificate", certificate?.names.joined(separator: ", ")),
        ]
        return (credentials + others).compactMap(\.self)
    }

    // MARK: - Several nodes

    /// The nodes of a log that several hubs share, and the log itself.
    package func facts(_ node: HubOverview.Node) -> [ReportFact] {
        let missing = node.replicas.map { $0.missing > 0 } ?? false
        let clock = node.clockAheadSeconds.map { Self.clock($0) ?? "agrees with the others" }
        let log = [
            ReportFact("Last writer", node.writer ?? "unknown"),
            ReportFact(
                "Shared log",
                node.cutOffSeconds.map { "has not answered for \($0) s" } ?? "answers",
                isBad: node.cutOffSeconds != nil
            ), ReportFact("Replicas", node.replicas.map(text), isBad: missing),
            ReportFact("Clock", clock ?? "not compared with others"),
            ReportFact("Duties", node.dutyObstacle.map { "none at this hub: \($0)" }, isBad: true),
        ]
        let own = ReportFact("Node \(node.name)", "this one: entry \(node.position) of \(node.logEnd)")
        return ([own] + node.peers.map { fact($0, logEnd: node.logEnd) } + log).compactMap(\.self)
    }

    private func fact(_ peer: HubOverview.Node.Peer, logEnd: UInt64) -> ReportFact? {
        let lag = Counted.text(logEnd - min(peer.position, logEnd), "entry", "entries")
        let state = peer.isSilent ? "not seen for \(peer.seenSecondsAgo) s" : "\(lag) behind"
        let clock = Self.clock(peer.clockAheadSeconds).map { ", clock \($0)" } ?? ""
        let duties = peer.dutyObstacle.map { ", no duties: \($0)" } ?? ""
        let text = "newswire \(peer.version): entry \(peer.position), \(state)\(clock)\(duties)"
        return ReportFact("Node \(peer.name)", text, isBad: peer.isSilent || peer.dutyObstacle != nil)
    }

    private func text(_ replicas: HubOverview.Node.Replicas) -> String {
        let late = replicas.late.isEmpty ? "" : "; not \(replicas.late.joined(separator: ", "))"
        let enough = HubOverview.Node.enoughReplicas
        let few = replicas.configured < enough ? "; too few, \(enough) survive the loss of one" : ""
        return "\(replicas.current) of \(replicas.configured) servers have every entry\(late)\(few)"
    }

    /// A difference of a clock from the median that is worth a look.
    private static func clock(_ ahead: Double?) -> String? {
        guard let ahead, abs(ahead) >= 1 else { return nil }
        return "\(Int(min(abs(ahead), 1e15).rounded())) s \(ahead < 0 ? "behind" : "ahead of") the others"
    }
}
