internal import FeedLists
internal import FoundationEssentials
internal import HubClient
internal import HubProtocol

/// Handing what waits to the hub.
extension PublishPass {
    private static let secondsOfDay: Double = 86_400

    /// What was sent already in this pass.
    struct Sending {
        /// Somebody else sends.
        var isElsewhere = false
        /// By category, what counts in the cap.
        var singles: [String: Int] = [:]
        /// Whether all that this pass finds is there: then the rest of a category becomes a digest.
        var isLast = true
        /// The hub is away or refuses us: another pass tries again.
        var hasFailed = false
    }

    /// Sends what waits.
    func send(_ start: Date, _ report: inout PublishReport) async throws {
        var sending = Sending()
        try await send(start, &report, &sending)
    }

    func send(_ start: Date, _ report: inout PublishReport, _ sending: inout Sending) async throws {
        guard !sending.hasFailed else { return }
        let target: any MessageHub
        if let preview {
            target = PreviewHub(client: hub, collector: preview)
        } else if let hub {
            let (error, wasContacted) = try await announceCategories(to: hub, start)
            if let error {
                sending.hasFailed = true
                try settle(error, &report)
                return
            }
            if wasContacted { try settle(nil, &report) }
            target = LiveHub(client: hub)
        } else {
            return
        }
        var sender = OutboxSender(
            store: store,
            hub: target,
            options: options,
            environment: environment,
            reporter: reporter,
            now: start,
            preview: preview
        )
        sender.singles = sending.singles
        sender.isLast = sending.isLast
        let outcome = try await sender.run()
        sending.singles = outcome.singles
        sending.hasFailed = outcome.trouble != nil
        report.sent += outcome.sent
        report.digests += outcome.digests
        report.refused += outcome.refused
        report.waitsUntil = outcome.waitsUntil
        guard preview == nil else { return }
        if outcome.trouble != nil || outcome.wasContacted { try settle(outcome.trouble, &report) }
    }

    /// Tells the hub which categories there are when that changed, and once a day in case the hub forgot.
    private func announceCategories(
        to hub: HubClient,
        _ now: Date
    ) async throws -> (error: HubClientError?, wasContacted: Bool) {
        let categories = lists.categories.map(\.text).sorted()
        let day = Int64((now.timeIntervalSince1970 / Self.secondsOfDay).rounded(.down))
        let value = "\(options.publisher) \(day) \(categories.joined(separator: ","))"
        guard try store.note(.announcedCategories) != value else { return (nil, false) }
        do throws(HubClientError) {
            _ = try await hub.setCategories(categories, publisher: options.publisher)
        } catch .refused(400, _, _, _) {
            // Another hub's word for a route that it does not know (protocol §2); its agents need no list.
        } catch {
            return (error, true)
        }
        try store.setNote(.announcedCategories, value)
        return (nil, true)
    }

    /// Says once that the hub is away or refuses us, and once that it is back.
    private func settle(_ error: HubClientError?, _ report: inout PublishReport) throws {
        let before = try store.note(.hubTrouble)
        guard let error else {
            guard before != nil else { return }
            try store.setNote(.hubTrouble, nil)
            reporter.line(PublishLine(.notice, "hub '\(hub?.address ?? "")' takes messages again"))
            return
        }
        if case .cancelled = error {
            report.exit = .tryLater
            return
        }
        let trouble = HubTrouble(error, at: hub?.address ?? "", pending: try store.counts().pending)
        report.exit = trouble.isConfiguration ? .badConfiguration : .tryLater
        let isRepeat = before == trouble.kind
        reporter.line(PublishLine(trouble.isConfiguration ? .error : .warning, trouble.line, isRepeat: isRepeat))
        if let advice = trouble.advice { reporter.line(PublishLine(.hint, advice, isRepeat: isRepeat)) }
        if !isRepeat { try store.setNote(.hubTrouble, trouble.kind) }
    }
}
