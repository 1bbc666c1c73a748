import Foundation
import HubProtocol
import HubRouting
import HubStore

/// One registration in its state when a message was accepted.
struct FoundRegistration {
    /// `nil` for a part of an installation that no longer exists.
    var id: RegistrationID?
    let platform: Platform
    /// The template's name; `nil` for a native registration.
    let template: String?
    let tile: String?
    let installation: InstallationID?
    /// `nil` for a part of an installation that no longer exists.
    let ordinal: Ordinal?
    let handle: String?
    let tags: [Tag]
    /// The present tags, if they differ.
    var tagsNow: [Tag]?
}

/// Determines why a message was for a registration, or was not.
struct RegistrationJudge {
    /// Maximum number of names that a sentence lists.
    static let maximumNamed = 10

    private let record: MessageRecord
    private let format: MessageFormat
    private let expression: TagExpression?
    private let targets: MessageTargets?

    init(_ logged: LoggedMessage) throws {
        record = logged.record
        format = record.format
        expression = try record.tags.map { try TagExpression(parsing: $0, limits: .stored) }
        targets = try record.targets
    }

    func report(_ found: FoundRegistration) -> RegistrationReport {
        let evaluation = expression.map { TagEvaluation($0.root, contains: Set(found.tags).contains) }
        let (matches, reason) = judge(found, evaluation)
        var report = RegistrationReport(
            platform: found.platform,
            tags: found.tags.map(\.text),
            matches: matches,
            reason: reason
        )
        report.id = found.id
        report.template = found.template
        report.tile = found.tile
        report.installation = found.installation
        report.tagsNow = found.tagsNow?.map(\.text)
        report.expression = isOfKind(found) ? evaluation : nil
        return report
    }

    private func isOfKind(_ found: FoundRegistration) -> Bool {
        format == .template ? found.template != nil : found.template == nil && found.platform == format.platform
    }

    private func judge(_ found: FoundRegistration, _ evaluation: TagEvaluation?) -> (Bool, String) {
        // A direct send is for a handle, not for the registrations that have it.
        if let targets, targets.isDirect {
            let isMeant = targets.handles.contains { handle in found.handle.map(handle.isAddressed) == true }
            return isMeant
                ? (true, "the message was sent directly to its handle") : (false, otherHandles(targets))
        }
        guard isOfKind(found) else { return (false, otherKind(found)) }
        if let evaluation, !evaluation.holds { return (false, demand(evaluation, found.tags.map(\.text))) }
        if let targets, targets.isTest, found.id.map(targets.registrations.contains) != true {
            return (false, testLimit)
        }
        return (
            true,
            evaluation == nil ? "the message was for everybody" : "its tags match the expression"
        )
    }

    private func otherKind(_ found: FoundRegistration) -> String {
        if format == .template { return "it is native, and a template message is for registrations with a template" }
        if found.template != nil {
            return "it has a template, and a message of format '\(format)' is for native registrations"
        }
        return "it is of platform '\(found.platform)', and the message of format '\(format)'"
    }

    private func otherHandles(_ targets: MessageTargets) -> String {
        "the message was sent directly to \(targets.handles.count == 1 ? "another handle" : "other handles")"
    }

    private var testLimit: String {
        "it matches, but is not among the \(NotificationOutcome.maximumResults) targets of the test send"
    }

    /// The reason why an expression does not match.
    func demand(_ evaluation: TagEvaluation?, _ tags: [String]) -> String {
        "the expression \(evaluation?.demand ?? "does not hold") and it has \(tags.quoted)"
    }

    /// The reason why a direct or test send is not for a `stream` installation; `nil` if it is, or if the message is
    /// neither.
    func otherTargets(than id: InstallationID) -> String? {
        guard let targets, !targets.installations.contains(id) else { return nil }
        return targets.isDirect ? "the message was sent directly to other devices" : testLimit
    }

    /// A remark on the size of a message that a platform does not accept; `nil` if it accepts the message.
    func excess(on platform: Platform) throws -> String? {
        try MessageOutcomes.excess(of: record, on: platform).map { limit in
            "its body has \(record.body.count) bytes, and platform '\(platform)' accepts at most \(limit)"
        }
    }

    /// The position of a handle among those that a direct send names; `nil` if it is not one of them.
    func place(of handle: String) -> Int? { targets?.handles.firstIndex { $0.isAddressed(by: handle) } }
}

extension [String] {
    /// The elements in quotation marks, separated by commas.
    var quoted: String {
        guard !isEmpty else { return "no tags" }
        let shown = prefix(RegistrationJudge.maximumNamed).map { "'\($0)'" }.joined(separator: ", ")
        let more = count - RegistrationJudge.maximumNamed
        return more > 0 ? "\(shown) and \(more) more" : shown
    }
}
