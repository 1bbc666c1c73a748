import DesktopNotifications
import HubProtocol
import NetworkAddresses

/// Shows rows on the desktop in addition to their handler, and reports once when that fails.
///
/// The desktop is not a handler: a row that cannot be shown has not failed, and is printed instead.
actor DesktopHandler {
    /// Number of rows, the newest, that are shown one by one when many wait.
    static let newest = 5

    private let notifier: DesktopNotifier
    private let reporter: AgentReporter
    /// The handling of rows that cannot be shown, as the end of a sentence.
    private let fallback: String
    private var isAway = false
    /// Number of older rows that were not shown because newer ones wait.
    private var passedOver = 0
    /// The last row shown: a row that returns after its handler failed is not shown again.
    private var lastShown: Int64?

    init(notifier: DesktopNotifier, reporter: AgentReporter, beside handler: InboxHandler) {
        self.notifier = notifier
        self.reporter = reporter
        switch handler {
        case .print: fallback = "messages are printed instead"
        case .json, .exec: fallback = "messages are passed on without them"
        }
    }

    /// Reports at the start, instead of with the first message, that there is no desktop.
    func start() async {
        do {
            try await notifier.connect()
        } catch {
            failed(error)
        }
    }

    /// Shows the number of rows that were not shown, and closes the connection.
    func close() async {
        do throws(DesktopError) {
            try await showPassedOver(within: DesktopNotifier.timeout)
        } catch {
            failed(error)
        }
        await notifier.close()
    }

    /// Shows a row, or adds it to the count that one notification shows; `waiting` rows follow it.
    ///
    /// A row that a later row in the inbox replaces is not shown: nobody should read that a house burns when the next
    /// message says that it does not. A critical row, and a row that replaces a visible notification, are always shown
    /// at once.
    ///
    /// - Returns: True if the row was shown or counted, or need not be shown; false if notifications failed.
    func show(_ record: InboxRecord, waiting: Int, within limit: Duration) async -> Bool {
        if record.ordinal == lastShown { return true }
        do {
            let notification = DesktopNotification(record)
            let isLate = waiting >= Self.newest
            try await notifier.connect(within: limit)
            if !isLate { try await showPassedOver(within: limit) }
            if record.supersession == nil {
                var isWanted = !isLate || notification.urgency == .critical
                if !isWanted { isWanted = await notifier.replacesShown(notification) }
                if isWanted {
                    try await notifier.show(notification, within: limit)
                } else {
                    passedOver += 1
                }
            }
        } catch {
            failed(error)
            return false
        }
        lastShown = record.ordinal
        if isAway { reporter.notice("notifications can be shown again") }
        isAway = false
        return true
    }

    private func showPassedOver(within limit: Duration) async throws(DesktopError) {
        guard passedOver > 0 else { return }
        try await notifier.show(DesktopNotification(passedOver: passedOver), within: limit)
        passedOver = 0
    }

    private func failed(_ error: DesktopError) {
        if !isAway {
            reporter.warning("cannot show notifications: \(error); \(fallback)")
            reporter.hint(Self.hint(error))
        }
        isAway = true
    }

    private static func hint(_ error: DesktopError) -> AgentHint {
        switch error {
        case .noBus, .disconnected: .noDesktop
        case .noService: .noNotifications
        case .timedOut, .refused: .notifications
        }
    }
}

extension DesktopNotification {
    /// Makes a notification; messages of one `story`, and repeats of one message, replace each other.
    init(_ record: InboxRecord) {
        let content = record.content
        let relation = record.relation
        let title = content.title.isEmpty ? content.message : content.title
        let shown = title.isEmpty ? "(no text)" : title
        let text = content.message == title ? "" : content.message
        self.init(
            key: relation.story.isEmpty ? "message:\(record.id)" : Self.key(ofStory: relation.story),
            summary: (record.isRedelivery ? "(again) " : "") + (relation.status?.marking(shown) ?? shown),
            body: text.isEmpty ? content.category : text,
            urgency: Self.urgency(MessageProperty.texts(of: record.body)[.urgency]),
            link: WebLink(content.link),
            replaces: relation.replaces.map(Self.key)
        )
    }

    private static func urgency(_ word: String?) -> Urgency {
        switch MessageUrgency(word: word ?? "") {
        case .low: .low
        case .normal: .normal
        case .critical: .critical
        }
    }

    private static func key(ofStory name: String) -> String { "story:\(name)" }

    /// Makes one notification for all rows that were not shown one by one.
    init(passedOver count: Int) {
        self.init(
            key: "passed over",
            summary: count == 1 ? "One earlier message" : "\(count) earlier messages",
            body: "'newswire inbox' lists them"
        )
    }
}
