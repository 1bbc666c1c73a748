import HubProtocol

/// An alarm in words, for people.
package struct AlarmDescription: Sendable, Equatable {
    /// The largest number of characters of a subject in a title or a list.
    static let maximumName = 120
    /// The largest number of characters of a subject in a text, which must fit into a push notification with its title.
    private static let maximumSubject = 400
    /// The largest number of characters of a reason.
    private static let maximumReason = 200
    static let overview = "'newswire hub alarms' lists all alarms."

    package let title: String
    package let text: String

    /// - Parameters:
    ///   - alarm: The alarm.
    ///   - finding: The known facts; `nil` for an alarm that has ended.
    ///   - id: The id for silencing it.
    package init(_ alarm: Alarm, _ finding: AlarmFinding?, id: String) {
        title = Self.title(alarm, Self.clip(alarm.subject, Self.maximumName), finding)
        let condition = Self.condition(alarm, Self.clip(alarm.subject, Self.maximumSubject), finding)
        text = "\(condition) \(alarm.kind.advice) To silence it: newswire hub alarms silence \(id)"
    }

    private static func title(_ alarm: Alarm, _ subject: String, _ finding: AlarmFinding?) -> String {
        switch alarm.kind {
        case .silentCategory: "No news in '\(subject)'"
        case .failingFeed: "Feed fails: \(subject)"
        case .silentPublisher: "Publisher '\(subject)' does not report"
        case .absentAgent: "Agent '\(subject)' is not connected"
        case .expiringCredential: "Credential for \(subject) expires\(day(finding))"
        case .refusedCredential: "Credential for \(subject) is refused"
        case .expiringCertificate: "TLS certificate of \(subject) expires\(day(finding))"
        case .droppedMessages: "The hub drops messages before they expire"
        case .missingReplicas: "The log of the hubs has too few replicas"
        case .unfitHub: "The hub '\(subject)' takes no duties"
        }
    }

    private static func condition(_ alarm: Alarm, _ subject: String, _ finding: AlarmFinding?) -> String {
        let since = finding.map { " since \(time($0.since))" } ?? ""
        return switch alarm.kind {
        case .silentCategory: "No message has come for the category '\(subject)'\(since), which is unusually long."
        case .failingFeed:
            "The publisher\(finding?.publisher.map { " '\(clip($0, maximumName))'" } ?? "") has not been able to read "
                + "\(subject)\(since)."
        case .silentPublisher: "The publisher '\(subject)' has not reported\(since)."
        case .absentAgent: "The agent '\(subject)' has not been connected\(since)."
        case .expiringCredential:
            "After\(finding?.deadline.map { " \(time($0))" } ?? " that") nothing can be sent through \(subject)."
        case .refusedCredential:
            "The credential for \(subject) cannot be used, or its service has refused it\(since); its messages wait."
                + (finding?.reason.map { " The reason is: \(clip($0, maximumReason))." } ?? "")
        case .expiringCertificate:
            "After\(finding?.deadline.map { " \(time($0))" } ?? " that") clients refuse to connect to the hub."
        case .droppedMessages: "The message log is full\(since); agents that were away lose messages."
        case .missingReplicas:
            "A server of the log has lacked entries\(since), or has not answered; the loss of another one stops the hubs."
        case .unfitHub:
            "The hub '\(subject)' cannot take over from the others\(since)."
                + (finding?.reason.map { " The reason is: \(clip($0, maximumReason))." } ?? "")
        }
    }

    private static func day(_ finding: AlarmFinding?) -> String {
        finding?.deadline.map { " on \($0.wholeSecond.prefix(10))" } ?? ""
    }

    /// A time, as in "2030-03-17 17:46 UTC".
    private static func time(_ time: Timestamp) -> String {
        let text = time.wholeSecond
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC"
    }

    static func clip(_ text: String, _ characters: Int) -> String {
        text.unicodeScalars.count <= characters
            ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(characters - 1))) + "…"
    }
}

extension Alarm.Kind {
    /// The words for several alarms, as in "12 silent categories".
    package var plural: String {
        switch self {
        case .silentCategory: "silent categories"
        case .failingFeed: "failing feeds"
        case .silentPublisher: "publishers that do not report"
        case .absentAgent: "agents that are not connected"
        case .expiringCredential: "credentials that expire soon"
        case .refusedCredential: "credentials that are refused"
        case .expiringCertificate: "TLS certificates that expire soon"
        case .droppedMessages: "reports of dropped messages"
        case .missingReplicas: "logs with too few replicas"
        case .unfitHub: "hubs that take no duties"
        }
    }

    /// The advice for the operator.
    var advice: String {
        switch self {
        case .silentCategory: "Check its feeds and its publisher: newswire publishers."
        case .failingFeed: "See why with 'newswire publishers NAME', and fix or remove the feed in its list."
        case .silentPublisher:
            "Check its timer or service, and the connection to the hub: systemctl status 'newswire-*'."
        case .absentAgent: "Check its service and its network: newswire registrations."
        case .expiringCredential: "Get a new one from the push service, and set it: newswire hub credentials list."
        case .refusedCredential: "See why with 'newswire hub credentials test', and replace it or remove it."
        case .expiringCertificate: "Replace the files of 'hub.tls-certificate' and 'hub.tls-key'."
        case .droppedMessages: "Raise 'hub.log-size', or lower 'hub.time-to-live'."
        case .missingReplicas: "See which one with 'newswire hub log status', and start or replace it."
        case .unfitHub: "Correct its clock or its secrets.key: newswire hub log status."
        }
    }

    /// A sentence about the end of the alarm.
    var ending: String {
        switch self {
        case .silentCategory: "A message has come, or the category is no longer announced."
        case .failingFeed: "The feed is read again, or its publisher no longer has it."
        case .silentPublisher: "The publisher reports again, or was forgotten after 7 days."
        case .absentAgent: "The agent is connected again, or is no longer expected."
        case .expiringCredential: "The credential was replaced or removed."
        case .refusedCredential: "The credential is accepted, or was replaced or removed."
        case .expiringCertificate: "The certificate was replaced."
        case .droppedMessages: "No message has been dropped for an hour."
        case .missingReplicas: "All servers of the log have every entry."
        case .unfitHub: "The hub may have duties again, or is gone."
        }
    }
}
