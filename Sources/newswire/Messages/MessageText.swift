import HostSystem
import HubProtocol
import PushEmulator

/// The hub's reports on messages as text, safe for a terminal whatever the hub sends.
enum MessageText {
    /// Returns a message as one line.
    static func line(_ message: MessageReport) -> String {
        let parts = [
            message.acceptedAt, message.id.text, message.state.rawValue, counts(message.matched),
            (message.format.map { "\($0) " } ?? "") + audience(message),
        ]
        let shown = content(message).first.map { [$0.text] } ?? []
        return TerminalText.safe((parts + shown).joined(separator: "  "))
    }

    /// Returns title and text, each with its label, or the reason why they are not shown.
    private static func content(_ message: MessageReport) -> [(label: String, text: String)] {
        if let withheld = message.withheld {
            if withheld == .secure { return [("title", "(secure: only its addressee can read it)")] }
            let isPersonal = withheld == .personal
            return [("title", isPersonal ? "(to persons or devices: not shown)" : "(not shown: \(withheld.rawValue))")]
        }
        return [message.title.map { ("title", $0) }, message.text.map { ("text", $0) }].compactMap(\.self)
    }

    /// Returns all fields of a message.
    static func lines(_ message: MessageReport) -> [String] {
        var lines = ["message   \(message.id)", "accepted  \(message.acceptedAt)\(until(message.expiresAt))"]
        if let dueAt = message.dueAt { lines.append("due       \(dueAt)") }
        if let canceledAt = message.canceledAt { lines.append("canceled  \(canceledAt)") }
        if let format = message.format { lines.append("format    \(format)") }
        lines.append("for       \(audience(message))")
        for (label, text) in content(message) {
            for (place, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                lines.append("\(pad(place == 0 ? label : ""))\(line)")
            }
        }
        for (name, value) in (message.headers ?? [:]).sorted(by: { $0.key < $1.key }) {
            lines.append("header    \(name): \(value)")
        }
        lines.append("state     \(message.state.rawValue)")
        if message.position != nil {
            lines += ["matched   \(counts(message.matched))", "streams   \(outcomes(message.streams))"]
        }
        for (platform, outcomes) in (message.outcomes ?? [:]).sorted(by: { $0.key < $1.key })
        where platform != Platform.stream.rawValue {
            lines.append("\(pad(platform))\(outcomesLine(outcomes))")
        }
        if let device = message.device { lines += self.lines(device) }
        return lines.map(TerminalText.safe)
    }

    /// Returns a device that did not get a message, as one line.
    static func line(_ target: FailedTargets.Target) -> String {
        let name = target.installation?.text ?? target.handle ?? target.registration?.text ?? "gone"
        return TerminalText.safe("\(target.platform)  \(name)  \(target.outcome)  \(target.reason)")
    }

    /// Returns a message as an emulated push service received it.
    static func lines(_ delivery: InboxDocument.Delivery) -> [String] {
        var lines = ["\(delivery.receivedAt)  \(delivery.service)  \(delivery.messageID)"]
        if delivery.isReplaced { lines.append("  replaced by a later message with the same key") }
        lines += delivery.headers.map { "  \($0.name): \($0.value)" }
        lines.append("  \(delivery.plaintext ?? delivery.body ?? delivery.bodyBase64 ?? "")")
        return lines.map(TerminalText.safe)
    }

    /// Returns the telemetry of a message at a hub other than newswire.
    static func lines(_ details: NotificationDetails) -> [String] {
        var lines = ["message   \(details.id)", "state     \(details.state.rawValue)"]
        if let time = details.enqueueTime { lines.append("accepted  \(ISODateTime.format(time))") }
        if let time = details.startTime { lines.append("started   \(ISODateTime.format(time))") }
        if let time = details.endTime { lines.append("ended     \(ISODateTime.format(time))") }
        lines.append("for       \(details.tags ?? "everybody")")
        for (platform, outcomes) in details.outcomes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let named = outcomes.reduce(into: [:]) { $0[$1.key.rawValue] = $1.value }
            lines.append("\(pad(platform.rawValue))\(outcomesLine(named))")
        }
        return lines.map(TerminalText.safe)
    }

    private static func outcomesLine(_ outcomes: [String: Int]) -> String {
        outcomes.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    private static func until(_ time: String?) -> String { time.map { ", kept until \($0)" } ?? "" }

    private static func lines(_ device: DeviceReport) -> [String] {
        var lines = device.explanation.enumerated().map { "\(pad($0 == 0 ? "why" : ""))\($1)" }
        if let tags = device.tags { lines.append("tags      \(tags.isEmpty ? "none" : tags.joined(separator: ", "))") }
        // On push platforms each template is one of the registrations.
        for template in device.registrations == nil ? device.templates ?? [] : [] {
            let own = template.tags.isEmpty ? "" : ", with the tags \(template.tags.joined(separator: ", "))"
            let verdict = template.matches ? (template.isEmpty ? "matches, empty" : "matches") : "does not match"
            lines.append("template  '\(template.name)'\(own): \(verdict)")
            if let expression = template.expression { lines += self.lines(expression, depth: 1) }
        }
        for registration in device.registrations ?? [] { lines += self.lines(registration) }
        if let stream = device.stream { lines.append("stream    \(text(stream))") }
        return lines
    }

    private static func lines(_ registration: RegistrationReport) -> [String] {
        let kind = registration.template.map { "template '\($0)'" } ?? "native"
        let tile = registration.tile.map { ", tile '\($0)'" } ?? ""
        let id = registration.id.map { " \($0)" } ?? ""
        var lines = [
            "\(pad(registration.matches ? "match" : "no match"))\(registration.platform) \(kind)\(tile)\(id)",
            "\(pad(""))  \(registration.reason)",
        ]
        if let now = registration.tagsNow {
            lines.append("\(pad(""))  its tags now: \(now.isEmpty ? "none" : now.joined(separator: ", "))")
        }
        if let expression = registration.expression { lines += self.lines(expression, depth: 1) }
        return lines
    }

    /// Returns one line for each part of an expression, followed by the indented lines of its operands.
    private static func lines(_ part: TagEvaluation, depth: Int) -> [String] {
        let indent = String(repeating: "  ", count: depth)
        return ["\(pad(""))\(indent)\(part.holds ? "yes" : "no ") \(part.expression)"]
            + (part.operands ?? []).flatMap { lines($0, depth: depth + 1) }
    }

    private static func text(_ stream: StreamReport) -> String {
        var parts = [stream.isOpen ? "open" : "closed"]
        if let at = stream.connectedAt { parts.append("opened \(at)") }
        if let at = stream.disconnectedAt { parts.append("closed \(at)") }
        if let position = stream.position { parts.append("written up to position \(position)") }
        if let cursor = stream.resumedFrom { parts.append("last resumed from cursor \(cursor)") }
        return parts.joined(separator: ", ")
    }

    private static func audience(_ message: MessageReport) -> String {
        let test = message.isTest == true ? ", a test for at most \(NotificationOutcome.maximumResults)" : ""
        if let handles = message.handles { return "\(Counted.text(handles, "handle"))\(test)" }
        return (message.tags ?? "everybody") + test
    }

    private static func counts(_ matched: [String: Int]?) -> String {
        guard let matched else { return "not counted" }
        guard !matched.isEmpty else { return "nobody" }
        return matched.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    private static func outcomes(_ streams: StreamOutcomes) -> String {
        var parts = ["\(streams.written) written (\(streams.resumedPast) resumed past)", "\(streams.pending) pending"]
        parts.append("\(streams.expired) expired")
        if let tooLarge = streams.tooLarge { parts.append("\(tooLarge) too large") }
        if streams.gone > 0 { parts.append("\(streams.gone) removed since") }
        return parts.joined(separator: ", ")
    }

    private static func pad(_ label: String) -> String {
        label + String(repeating: " ", count: max(1, 10 - label.count))
    }
}

/// The JSON output of telemetry.
struct TelemetryLine: Encodable {
    let id: String
    let state: String
    let enqueueTime: String?
    let startTime: String?
    let endTime: String?
    let tags: String?
    let outcomes: [String: [String: Int]]

    init(_ details: NotificationDetails) {
        id = details.id.text
        state = details.state.rawValue
        enqueueTime = details.enqueueTime.map(ISODateTime.format)
        startTime = details.startTime.map(ISODateTime.format)
        endTime = details.endTime.map(ISODateTime.format)
        tags = details.tags
        outcomes = details.outcomes.reduce(into: [:]) { all, platform in
            all[platform.key.rawValue] = platform.value.reduce(into: [:]) { $0[$1.key.rawValue] = $1.value }
        }
    }
}
