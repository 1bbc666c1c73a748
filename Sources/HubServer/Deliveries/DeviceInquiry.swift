import Foundation
import HubProtocol
import HubStore

/// Finds out why one device got a message, or did not.
struct DeviceInquiry {
    /// Names that a sentence spells out.
    static let maximumNamed = 10

    private let inquiry: DeliveryInquiry
    private let message: AcceptedMessage
    private let routed: RoutedMessage

    init(_ inquiry: DeliveryInquiry, _ message: AcceptedMessage) throws {
        self.inquiry = inquiry
        self.message = message
        routed = try RoutedMessage(message.logged)
    }

    private var hub: Hub { inquiry.hub }

    func report(_ id: InstallationID) async throws -> DeviceReport {
        guard
            let device = try await hub.store.installation(hub: hub.record.id, id: id, at: message.logged.sequence)
        else {
            return DeviceReport(
                id: id.text,
                outcome: .notRegistered,
                explanation: [
                    """
                    device '\(id)' is not registered at the hub '\(hub.record.name)'; if it was when the message came, \
                    its removal has ended what it was owed
                    """
                ]
            )
        }
        let name = "device '\(device.current.installation.id)'"
        guard let then = device.then else { return registeredLater(device, name) }
        let recipient = try Recipient(then)
        let templates = recipient.targets.map { template($0, of: recipient) }
        let standing = try await inquiry.standings(of: [device.current.ordinal])[device.current.ordinal]
        let (outcome, reason) = judge(then, recipient, templates, standing ?? StreamStanding(), name)
        var report = answer(device, outcome, [reason])
        report.templates = templates
        report.tags = then.tags.map(\.text)
        if device.current.installation.tags != then.tags {
            report.tagsNow = device.current.installation.tags.map(\.text)
        }
        if then.platform == .stream { report.stream = standing.map { StreamReport($0) } }
        report.explanation += remarks(report, recipient, standing)
        return report
    }

    private func answer(
        _ device: FormerInstallation,
        _ outcome: DeviceOutcome,
        _ explanation: [String]
    ) -> DeviceReport {
        var report = DeviceReport(
            id: device.current.installation.id.text,
            outcome: outcome,
            explanation: explanation
        )
        report.platform = device.current.installation.platform
        report.registeredAt = device.registeredAt.map(DeliveryInquiry.time)
        report.changedAt = device.changedAt.map(DeliveryInquiry.time)
        return report
    }

    private func registeredLater(_ device: FormerInstallation, _ name: String) -> DeviceReport {
        let at = device.registeredAt.map { " at \(DeliveryInquiry.time($0))" } ?? ""
        let reason = """
            \(name) did not get it: it was registered\(at), after the message, and is owed only what comes after that; \
            one that was removed and registers again begins anew
            """
        var report = answer(device, .registeredLater, [reason])
        report.tagsNow = device.current.installation.tags.map(\.text)
        return report
    }

    private func template(_ target: Recipient.Target, of recipient: Recipient) -> TemplateReport {
        let shown = target.template.render(routed.properties, variables: recipient.variables)
        return TemplateReport(
            name: target.name,
            tags: target.tags.map(\.text).sorted(),
            matches: recipient.matches(routed.expression, target),
            isEmpty: !target.template.propertyNames.isEmpty
                && shown == target.template.render(MessageProperties([:])),
            expression: routed.expression.map { expression in
                TagEvaluation(expression.root) { recipient.counts($0, target) }
            }
        )
    }
}

// MARK: - The verdict

extension DeviceInquiry {
    /// What became of the message here, and the sentence that says so.
    private func judge(
        _ then: Installation,
        _ recipient: Recipient,
        _ templates: [TemplateReport],
        _ standing: StreamStanding,
        _ name: String
    ) -> (DeviceOutcome, String) {
        guard templates.contains(where: \.matches) else {
            return (.notMatched, "\(name) did not get it: \(mismatch(then, templates))")
        }
        guard then.platform == .stream else {
            return (
                .notDelivered,
                """
                \(name) did not get it: it matches and was counted, but this hub does not deliver to platform \
                '\(then.platform)'
                """
            )
        }
        let outcome = inquiry.outcome(of: message, routed, for: recipient, at: standing)
        return (outcome, sentence(outcome, standing, name))
    }

    private func mismatch(_ then: Installation, _ templates: [TemplateReport]) -> String {
        guard let first = templates.first else { return "it has no template, and a message is shown through templates" }
        func reason(_ template: TemplateReport) -> String {
            let tags = then.tags.map(\.text) + template.tags
            return "the expression \(template.expression?.demand ?? "does not hold") and it has \(Self.quoted(tags))"
        }
        if templates.allSatisfy({ $0.tags.isEmpty }) { return reason(first) }
        return templates.prefix(Self.maximumNamed)
            .map { "for its template '\($0.name)' \(reason($0))" }
            .joined(separator: "; ")
    }

    private func sentence(_ outcome: DeviceOutcome, _ standing: StreamStanding, _ name: String) -> String {
        switch outcome {
        case .resumedPast: return "\(name) got it: it came back with a cursor beyond the message"
        case .written:
            return """
                \(name) was sent it: its stream was written beyond the message; that it arrived is proved when it next \
                comes back with a cursor
                """
        case .tooLarge:
            let limit = "\(EventEncoding.maximumMessageBytes >> 20) MiB"
            return "\(name) did not get it: its templates make more than \(limit) of it; a gap takes its place"
        case .expired:
            let until = DeliveryInquiry.time(inquiry.expiry(of: message))
            return "\(name) did not get it: it was owed until \(until) and its stream was not written so far by then"
        default:
            if standing.open != nil { return "\(name) is still owed it: its stream is open and not yet written so far" }
            guard let progress = standing.progress else {
                return "\(name) is still owed it: it has never opened its stream"
            }
            let since = progress.disconnectedAt.map { " since \(DeliveryInquiry.time($0))" } ?? ""
            return "\(name) is still owed it: its stream is closed\(since)"
        }
    }

    /// What else a person should know.
    private func remarks(_ report: DeviceReport, _ recipient: Recipient, _ standing: StreamStanding?) -> [String] {
        var remarks: [String] = []
        for (template, target) in zip(report.templates ?? [], recipient.targets)
        where template.matches && template.isEmpty {
            let names = Self.quoted(target.template.propertyNames.sorted())
            remarks.append("its template '\(template.name)' shows nothing of it: it names \(names), all empty here")
        }
        if let changedAt = report.changedAt {
            let now = report.tagsNow.map { ", and has \(Self.quoted($0)) today" } ?? ""
            remarks.append("it was changed at \(changedAt), after the message; what it had before counts\(now)")
        }
        guard report.platform == .stream, let progress = standing?.progress else { return remarks }
        if let cursor = progress.resumedFrom, StreamPosition(parsing: cursor).map(hub.epochs.knows) != true {
            let shown = cursor.excerpt
            remarks.append("it came with the cursor '\(shown)', which this hub does not know, and was told of a gap")
        }
        if let at = progress.revokedAt, at >= progress.connectedAt ?? 0, standing?.open == nil {
            remarks.append(
                "the hub ended its stream at \(DeliveryInquiry.time(at)): its key or its secret was no longer good"
            )
        }
        if let at = progress.replacedAt {
            remarks.append(
                """
                a newer stream of this installation took the place of an open one at \(DeliveryInquiry.time(at)); only \
                one at a time is served
                """
            )
        }
        return remarks
    }

    private static func quoted(_ names: [String]) -> String {
        guard !names.isEmpty else { return "no tags" }
        let shown = names.prefix(maximumNamed).map { "'\($0)'" }.joined(separator: ", ")
        return names.count > maximumNamed ? "\(shown) and \(names.count - maximumNamed) more" : shown
    }
}

extension EpochHistory {
    fileprivate func knows(_ position: StreamPosition) -> Bool {
        epochs.contains { $0.name == position.epoch }
    }
}

extension StreamReport {
    init(_ standing: StreamStanding) {
        self.init(isOpen: standing.open != nil)
        guard let progress = standing.progress else { return }
        position = standing.position
        resumedFrom = progress.resumedFrom
        connectedAt = progress.connectedAt.map(DeliveryInquiry.time)
        disconnectedAt = isOpen ? nil : progress.disconnectedAt.map(DeliveryInquiry.time)
        replacedAt = progress.replacedAt.map(DeliveryInquiry.time)
        revokedAt = progress.revokedAt.map(DeliveryInquiry.time)
    }
}
