internal import FoundationEssentials
package import HubProtocol

/// A telling of a story as pages show it.
package struct MessageView: Sendable, Equatable {
    /// The message's place in the log.
    let sequence: String
    /// The name of its story; empty if it has none.
    let story: String
    let category: String
    /// What it is to earlier messages of its story, such as `Correction`; empty for the first.
    let status: String
    let title: String
    /// The address of the story's page.
    let link: String?
    let text: String
    /// When the hub accepted it, in ISO 8601.
    let sent: String
    /// The same for readers without script.
    let sentText: String
    let isUrgent: Bool
    let isWithdrawn: Bool
    /// True for what came since the last visit.
    let isNew: Bool

    /// Without text, for the script to fill.
    static let blank = MessageView(
        sequence: "",
        story: "",
        category: "",
        status: "",
        title: "",
        link: nil,
        text: "",
        sent: "",
        sentText: "",
        isUrgent: false,
        isWithdrawn: false,
        isNew: false
    )
}

extension MessageView {
    /// Shows a telling as new if it came after `end`, the end of the log at the reader's last visit.
    package init(_ telling: Telling, newAfter end: LogSequence?) {
        let at = telling.at.date
        let day = at.formatted(.iso8601.year().month().day())
        let time = at.formatted(.iso8601.time(includingFractionalSeconds: false)).prefix(5)
        self.init(
            sequence: "\(telling.sequence)",
            story: telling.storyName,
            category: telling.text.category ?? "",
            status: telling.status?.label ?? "",
            title: telling.text.title,
            link: telling.text.link,
            text: telling.text.text ?? "",
            sent: at.formatted(.iso8601),
            sentText: "\(day) \(time) UTC",
            isUrgent: telling.isUrgent,
            isWithdrawn: telling.isWithdrawal,
            isNew: end.map { telling.sequence > $0 } ?? false
        )
    }
}

extension MessageStatus {
    fileprivate var label: String {
        switch self {
        case .update: "Update"
        case .correction: "Correction"
        case .withdrawn: "Withdrawn"
        }
    }
}
