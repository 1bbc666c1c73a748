import HostSystem
import HubProtocol

/// What the hub tells of messages, as text for people; fit for a terminal whatever the hub says.
enum MessageText {
    /// One message in a line.
    static func line(_ message: MessageReport) -> String {
        let parts = [
            message.acceptedAt, message.id.text, message.state.rawValue, counts(message.matched), audience(message),
        ]
        return TerminalText.safe(parts.joined(separator: "  "))
    }

    /// One message in full.
    static func lines(_ message: MessageReport) -> [String] {
        var lines = [
            "message   \(message.id)",
            "accepted  \(message.acceptedAt), kept until \(message.expiresAt)",
            "for       \(audience(message))",
            "state     \(message.state.rawValue)",
            "matched   \(counts(message.matched))",
            "streams   \(outcomes(message.streams))",
        ]
        for (platform, count) in (message.matched ?? [:]).sorted(by: { $0.key < $1.key })
        where platform != Platform.stream.rawValue {
            lines.append("\(pad(platform))\(count) stored, matched, not delivered by this hub")
        }
        if let device = message.device { lines += self.lines(device) }
        return lines.map(TerminalText.safe)
    }

    private static func lines(_ device: DeviceReport) -> [String] {
        var lines = device.explanation.enumerated().map { "\(pad($0 == 0 ? "why" : ""))\($1)" }
        if let tags = device.tags { lines.append("tags      \(tags.isEmpty ? "none" : tags.joined(separator: ", "))") }
        for template in device.templates ?? [] {
            let own = template.tags.isEmpty ? "" : ", with the tags \(template.tags.joined(separator: ", "))"
            let verdict = template.matches ? (template.isEmpty ? "matches, empty" : "matches") : "does not match"
            lines.append("template  '\(template.name)'\(own): \(verdict)")
            if let expression = template.expression { lines += self.lines(expression, depth: 1) }
        }
        if let stream = device.stream { lines.append("stream    \(text(stream))") }
        return lines
    }

    /// A part of an expression in each line, its own parts below it.
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
        if let cursor = stream.resumedFrom { parts.append("last came with the cursor \(cursor)") }
        return parts.joined(separator: ", ")
    }

    private static func audience(_ message: MessageReport) -> String { message.tags ?? "everybody" }

    private static func counts(_ matched: [String: Int]?) -> String {
        guard let matched else { return "not counted" }
        guard !matched.isEmpty else { return "nobody" }
        return matched.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    private static func outcomes(_ streams: StreamOutcomes) -> String {
        var parts = ["\(streams.written) written (\(streams.resumedPast) resumed past)", "\(streams.owed) owed"]
        parts.append("\(streams.expired) expired")
        if let tooLarge = streams.tooLarge { parts.append("\(tooLarge) too large") }
        if streams.gone > 0 { parts.append("\(streams.gone) removed since") }
        return parts.joined(separator: ", ")
    }

    private static func pad(_ label: String) -> String {
        label + String(repeating: " ", count: max(1, 10 - label.count))
    }
}
