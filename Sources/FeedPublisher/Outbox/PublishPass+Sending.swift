internal import FeedLists
internal import FoundationEssentials
internal import HostSystem
internal import HubClient
internal import HubProtocol

/// Sending pending messages to the hub.
extension PublishPass {
    private static let secondsOfDay: Double = 86_400

    /// Sends pending messages; the rest of a category becomes a digest once this pass has found all messages
    /// (`isLast`).
    func send(_ course: inout Course, isLast: Bool = true) async throws {
        guard !course.hasHubFailed else { return }
        let deliver: OutboxSender.Delivery
        if let preview {
            deliver = { [hub] body, message in
                await preview.add(message, body, countedBy: hub)
                return nil
            }
        } else if let hub {
            let (error, wasContacted) = try await announceCategories(to: hub, course.start)
            course.hasHubFailed = error != nil
            if wasContacted { try settle(error, &course.report) }
            guard error == nil else { return }
            deliver = { body, message in
                try await hub.send(body, tags: message.tags, idempotencyKey: message.idempotencyKey)?.text
            }
        } else {
            return
        }
        let outcome = try await OutboxSender(pass: self, deliver: deliver, now: course.start, isLast: isLast).run()
        course.hasHubFailed = outcome.problem != nil
        course.report.add(outcome.report)
        course.report.waitsUntil = outcome.waitsUntil
        guard preview == nil else { return }
        if outcome.problem != nil || outcome.wasContacted { try settle(outcome.problem, &course.report) }
    }

    /// Announces the categories to the hub when they have changed, and once a day in case the hub lost them.
    private func announceCategories(
        to hub: HubClient,
        _ now: Date
    ) async throws -> (error: HubError?, wasContacted: Bool) {
        let categories = lists.categories.map(\.text).sorted()
        let day = Int64((now.timeIntervalSince1970 / Self.secondsOfDay).rounded(.down))
        let value = "\(options.publisher) \(day) \(categories.joined(separator: ","))"
        guard try store.note(.announcedCategories) != value else { return (nil, false) }
        do throws(HubError) {
            try await hub.setCategories(categories, publisher: options.publisher)
        } catch .unsupported {
            // Its agents need no list.
        } catch .refused(400, _, _, _) {
            // A hub that is not newswire answers 400 for an unknown route (protocol §2).
        } catch {
            return (error, true)
        }
        try store.setNote(.announcedCategories, value)
        return (nil, true)
    }

    /// Reports once that the hub is not available or refuses this publisher, and once that it accepts messages again.
    private func settle(_ error: HubError?, _ report: inout PublishReport) throws {
        let before = try store.note(.hubProblem)
        guard let error else {
            guard before != nil else { return }
            try store.setNote(.hubProblem, nil)
            reporter.say(.notice, "hub '\(hub?.address ?? "")' accepts messages again")
            return
        }
        if case .cancelled = error {
            report.exit = .tryLater
            return
        }
        let problem = HubProblem(error, at: hub?.address ?? "", pending: try store.pendingCount())
        report.exit = problem.isConfiguration ? .badConfiguration : .tryLater
        let isRepeat = before == problem.kind
        reporter.say(problem.isConfiguration ? .error : .warning, problem.line, isRepeat: isRepeat)
        if let hint = problem.hint { reporter.say(.hint, hint: .hub(hint), isRepeat: isRepeat) }
        if !isRepeat { try store.setNote(.hubProblem, problem.kind) }
    }
}
