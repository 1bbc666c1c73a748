/// A notice to operators about alarms that begin or end: one alarm, or a summary of many.
package struct AlarmNotice: Sendable, Equatable {
    /// The largest number of changes that are reported one by one; more are summarized by kind.
    package static let maximumSingle = 4
    /// The number of alarms that a summary names; it counts the rest.
    private static let named = 8
    /// The largest number of characters of each named alarm.
    private static let maximumName = 60

    package let title: String
    package let text: String
    /// The alarm of a notice about a single alarm.
    package let alarm: Alarm?
    /// True if an alarm begins.
    package let isRaised: Bool

    /// Creates the notices of some changes, at most `limit`, which is at least 1.
    ///
    /// - Parameters:
    ///   - changes: The changes of a judgement.
    ///   - limit: The largest number of notices.
    ///   - describe: Returns the description of an alarm, including the id for silencing it.
    /// - Returns: Notices; those about single alarms are in the order of the changes.
    package static func compose(
        _ changes: [AlarmChange],
        limit: Int,
        describe: (Alarm) -> AlarmDescription
    ) -> [AlarmNotice] {
        guard changes.count > min(limit, maximumSingle) else { return changes.map { one($0, describe($0.alarm)) } }
        var groups: [[AlarmChange]] = []
        for kind in Alarm.Kind.allCases {
            let ofKind = changes.filter { $0.alarm.kind == kind }
            groups += [ofKind.filter(\.isRaised), ofKind.filter { !$0.isRaised }].filter { !$0.isEmpty }
        }
        guard groups.count <= limit else { return [sum(changes)] }
        return groups.map { group in
            group.count == 1 ? one(group[0], describe(group[0].alarm)) : sum(group, of: group[0])
        }
    }

    private static func one(_ change: AlarmChange, _ description: AlarmDescription) -> AlarmNotice {
        AlarmNotice(
            title: change.isRaised ? description.title : "Ended: \(description.title)",
            text: change.isRaised ? description.text : change.alarm.kind.ending,
            alarm: change.alarm,
            isRaised: change.isRaised
        )
    }

    /// Summarizes many changes of one kind.
    private static func sum(_ changes: [AlarmChange], of first: AlarmChange) -> AlarmNotice {
        let kind = first.alarm.kind
        let names = changes.prefix(named).map { AlarmDescription.clip($0.alarm.subject, maximumName) }
        let rest = changes.count - names.count
        let list = names.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
        let title = "\(changes.count) \(kind.plural)"
        return AlarmNotice(
            title: first.isRaised ? title : "Ended: \(title)",
            text: "\(list). \(first.isRaised ? "\(kind.advice) " : "")\(AlarmDescription.overview)",
            alarm: nil,
            isRaised: first.isRaised
        )
    }

    /// Summarizes changes of too many kinds.
    private static func sum(_ changes: [AlarmChange]) -> AlarmNotice {
        let raised = changes.count(where: \.isRaised)
        let ended = changes.count - raised
        let parts = [raised > 0 ? "\(raised) began" : nil, ended > 0 ? "\(ended) ended" : nil]
        let kinds = Alarm.Kind.allCases.compactMap { kind -> String? in
            let count = changes.count { $0.isRaised && $0.alarm.kind == kind }
            return count > 0 ? "\(kind.plural): \(count)" : nil
        }
        return AlarmNotice(
            title: "Alarms: \(parts.compactMap(\.self).joined(separator: ", "))",
            text: (kinds.isEmpty ? "" : "\(kinds.joined(separator: ", ")). ") + AlarmDescription.overview,
            alarm: nil,
            isRaised: raised > 0
        )
    }
}
