import Foundation
import HubProtocol
import HubRouting
import HubStore
import HubStreams

/// Reports why one device got a message, or did not.
///
/// A device is an installation of any platform, or a push handle with all its registrations.
struct DeviceLookup {
    let lookup: DeliveryLookup
    let message: AcceptedMessage
    let routed: RoutedMessage
    let judge: RegistrationJudge

    init(_ lookup: DeliveryLookup, _ message: AcceptedMessage) throws {
        self.lookup = lookup
        self.message = message
        routed = try message.logged.routed
        judge = try RegistrationJudge(message.logged)
    }

    var hub: Hub { lookup.hub }

    /// Reports on a device, which is named by an installation's id or a push handle.
    func report(_ device: String) async throws -> DeviceReport {
        if let id = try? InstallationID(device),
            let found = try await hub.store.installation(hub: hub.record.id, id: id, at: message.logged.sequence)
        {
            return try await report(found)
        }
        if let report = try await report(handle: device) { return report }
        // An import has created the registrations of an installation that has not registered itself.
        if let id = try? InstallationID(device) {
            let known = try await hub.registrations.page(.tag(.installation(id)), from: nil, limit: 1).registrations
                .first
            if let handle = known?.registration.pushChannel.handle, let report = try await report(handle: handle) {
                return report
            }
        }
        return DeviceReport(
            id: device,
            outcome: .notRegistered,
            explanation: [
                """
                device '\(device.excerpt)' is not registered at the hub '\(hub.record.name)'; if it was registered \
                when the message came, its pending messages were removed with it
                """
            ]
        )
    }

    private func report(_ device: FormerInstallation) async throws -> DeviceReport {
        let name = "device '\(device.current.installation.id)'"
        guard let then = device.then else { return registeredLater(device, name) }
        guard then.platform == .stream else { return try await pushReport(device, then, name) }
        let recipient = try Recipient(then)
        let templates = routed.format == .template ? recipient.targets.map { template($0, of: recipient) } : []
        let streamState = try await lookup.streamStates(of: [device.current.ordinal])[device.current.ordinal]
        let (outcome, reason) = judgeStream(then, recipient, templates, streamState ?? StreamState(), name)
        var report = answer(device, then, outcome, [reason])
        if routed.format == .template { report.templates = templates }
        report.stream = streamState.map { StreamReport($0) }
        report.explanation += remarks(report, recipient, streamState)
        if recipient.receives(routed), try !isStillAddressed(recipient, device.current.installation) {
            report.explanation.append("it has changed hands since; messages for its former user are no longer sent")
        }
        return report
    }

    /// False for a message to a user or device that the installation no longer belongs to.
    private func isStillAddressed(_ recipient: Recipient, _ current: Installation) throws -> Bool {
        let reserved = hub.configuration.reservedTags
        guard routed.namesIdentity(reserved) else { return true }
        return recipient.identified(as: try Recipient(current), reserved).receives(routed)
    }

    func answer(
        _ device: FormerInstallation,
        _ then: Installation? = nil,
        _ outcome: DeviceOutcome,
        _ explanation: [String]
    ) -> DeviceReport {
        let current = device.current.installation
        var report = DeviceReport(id: current.id.text, outcome: outcome, explanation: explanation)
        report.platform = current.platform
        report.registeredAt = device.registeredAt?.wholeSecond
        report.changedAt = device.changedAt?.wholeSecond
        report.tags = then?.tags.map(\.text)
        if let then, then.tags != current.tags { report.tagsNow = current.tags.map(\.text) }
        return report
    }

    private func registeredLater(_ device: FormerInstallation, _ name: String) -> DeviceReport {
        let at = device.registeredAt.map { " at \($0.wholeSecond)" } ?? ""
        let reason = """
            \(name) did not get it: it was registered\(at), after the message, and gets only later messages; a device \
            that was removed and registers again begins anew
            """
        var report = answer(device, nil, .registeredLater, [reason])
        report.tagsNow = device.current.installation.tags.map(\.text)
        return report
    }

    func template(_ target: Recipient.Target, of recipient: Recipient) -> TemplateReport {
        var isEmpty = false
        if case .template(let properties) = routed.content {
            let shown = target.template.render(properties, variables: recipient.variables)
            isEmpty =
                !target.template.propertyNames.isEmpty && shown == target.template.render(MessageProperties([:]))
        }
        return TemplateReport(
            name: target.name,
            // The tag with the template's name is left out, because the report has the name.
            tags: target.tags.filter { $0 != Tag(templateName: target.name) }.map(\.text).sorted(),
            matches: recipient.matches(routed, target),
            isEmpty: isEmpty,
            expression: routed.expression.map { expression in
                TagEvaluation(expression.root) { recipient.counts($0, target) }
            }
        )
    }

    /// Remarks that explain the outcome further.
    func remarks(_ report: DeviceReport, _ recipient: Recipient, _ streamState: StreamState?) -> [String] {
        var remarks: [String] = []
        for (template, target) in zip(report.templates ?? [], recipient.targets)
        where template.matches && template.isEmpty {
            let names = target.template.propertyNames.sorted().quoted
            remarks.append("its template '\(template.name)' shows nothing of it, which has no value for \(names)")
        }
        if let changedAt = report.changedAt {
            let now = report.tagsNow.map { ", and has \($0.quoted) today" } ?? ""
            remarks.append("it was changed at \(changedAt), after the message; its earlier choice counts\(now)")
        }
        guard report.platform == .stream, let progress = streamState?.progress else { return remarks }
        if let cursor = progress.resumedFrom, StreamPosition(parsing: cursor).map(hub.epochs.knows) != true {
            let shown = cursor.excerpt
            remarks.append("it sent the cursor '\(shown)', which this hub does not know, and was sent a gap")
        }
        if let at = progress.revokedAt, at >= progress.connectedAt ?? .distantPast, streamState?.open == nil {
            remarks.append(
                "the hub ended its stream at \(at.wholeSecond): its key or its secret was no longer valid"
            )
        }
        if let at = progress.replacedAt {
            remarks.append(
                """
                a newer stream of this installation replaced an open one at \(at.wholeSecond); an installation has \
                one stream at a time
                """
            )
        }
        return remarks
    }
}

// MARK: - The verdict on a stream

extension DeviceLookup {
    /// The outcome of the message at this installation, and a sentence that explains it.
    private func judgeStream(
        _ then: Installation,
        _ recipient: Recipient,
        _ templates: [TemplateReport],
        _ streamState: StreamState,
        _ name: String
    ) -> (DeviceOutcome, String) {
        guard recipient.receives(routed) else {
            return (.notMatched, "\(name) did not get it: \(mismatch(then, recipient, templates))")
        }
        let outcome = lookup.outcome(of: message, routed, for: recipient, at: streamState)
        return (outcome, sentence(outcome, streamState, name))
    }

    private func mismatch(_ then: Installation, _ recipient: Recipient, _ templates: [TemplateReport]) -> String {
        guard routed.isForStreams else {
            return "the message is of format '\(routed.format)', and agents get templates and format 'stream' only"
        }
        if let reason = judge.otherTargets(than: then.id) { return reason }
        guard routed.format == .template else {
            let evaluation = routed.expression.map { TagEvaluation($0.root) { recipient.tags.contains($0) } }
            return judge.demand(evaluation, then.tags.map(\.text))
        }
        return templates.mismatch(tags: then.tags, judge)
    }

    private func sentence(_ outcome: DeviceOutcome, _ streamState: StreamState, _ name: String) -> String {
        switch outcome {
        case .resumedPast: return "\(name) got it: it reconnected with a cursor beyond the message"
        case .written:
            return """
                it was sent to \(name): its stream was written beyond the message; the cursor of its next connection \
                shows whether it arrived
                """
        case .tooLarge:
            let limit = "\(EventEncoding.maximumMessageBytes >> 10) KiB"
            return "\(name) did not get it: rendered by its templates, it exceeds \(limit); a gap replaces it"
        case .expired:
            let until = lookup.expiry(of: message).wholeSecond
            return "\(name) did not get it: it expired at \(until), before the stream reached it"
        default:
            if streamState.open != nil {
                return "the message is pending for \(name): its stream is open but has not reached the message"
            }
            guard let progress = streamState.progress else {
                return "the message is pending for \(name): it has never opened its stream"
            }
            if lookup.hub.others != nil, progress.connectedAt != nil, progress.disconnectedAt == nil {
                return "the message is pending for \(name): by the last report, its stream is open at another node"
            }
            let since = progress.disconnectedAt.map { " since \($0.wholeSecond)" } ?? ""
            return "the message is pending for \(name): its stream is closed\(since)"
        }
    }
}

extension [TemplateReport] {
    /// The reason why none of the templates matches the message's expression.
    func mismatch(tags: [Tag], _ judge: RegistrationJudge) -> String {
        guard let first else { return "it has no template, and a message is shown through templates" }
        func reason(_ template: TemplateReport) -> String {
            judge.demand(template.expression, tags.map(\.text) + template.tags)
        }
        if allSatisfy({ $0.tags.isEmpty }) { return reason(first) }
        return prefix(RegistrationJudge.maximumNamed)
            .map { "for its template '\($0.name)' \(reason($0))" }
            .joined(separator: "; ")
    }
}

extension EpochHistory {
    fileprivate func knows(_ position: StreamPosition) -> Bool {
        epochs.contains { $0.name == position.epoch }
    }
}

extension StreamReport {
    init(_ streamState: StreamState) {
        self.init(isOpen: streamState.open != nil)
        guard let progress = streamState.progress else { return }
        position = streamState.position
        resumedFrom = progress.resumedFrom
        connectedAt = progress.connectedAt?.wholeSecond
        disconnectedAt = isOpen ? nil : progress.disconnectedAt?.wholeSecond
        replacedAt = progress.replacedAt?.wholeSecond
        revokedAt = progress.revokedAt?.wholeSecond
    }
}
