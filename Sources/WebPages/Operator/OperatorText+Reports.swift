package import HubProtocol

extension OperatorText {
    /// The outcomes of a message at all its targets.
    package static func outcomes(_ message: MessageReport) -> String {
        guard message.position != nil else { return "not sent yet" }
        let pushes = (message.outcomes ?? [:]).filter { $0.key != Platform.stream.rawValue }
        let parts = pushes.sorted { $0.key < $1.key }.map { "\($0.key): \(counts($0.value))" }
        let hasStreams = message.streams.matched > 0 || message.streams.gone > 0
        return ((hasStreams ? ["stream: \(outcomes(message.streams))"] : []) + parts).joined(separator: "; ")
    }

    package static func outcomes(_ streams: StreamOutcomes) -> String {
        var parts = ["\(streams.written) written", "\(streams.pending) pending"]
        if streams.expired > 0 { parts.append("\(streams.expired) expired") }
        if let tooLarge = streams.tooLarge { parts.append("\(tooLarge) too large") }
        if streams.gone > 0 { parts.append("\(streams.gone) removed since") }
        return parts.joined(separator: ", ")
    }

    /// The reasons why a device got a message or did not.
    package static func lines(_ device: DeviceReport) -> [String] {
        var lines = device.explanation
        if let tags = device.tags { lines.append("Its tags then: \(list(tags))") }
        if let tags = device.tagsNow { lines.append("Its tags today: \(list(tags))") }
        // On push platforms a template is one of the registrations.
        for template in device.registrations == nil ? device.templates ?? [] : [] {
            let verdict = template.matches ? (template.isEmpty ? "matches, and shows nothing" : "matches") : "no match"
            lines.append("Template '\(template.name)': \(verdict)")
            if let expression = template.expression { lines += self.lines(expression, depth: 1) }
        }
        for registration in device.registrations ?? [] {
            let kind = registration.template.map { "template '\($0)'" } ?? "native"
            let verdict = registration.matches ? "match" : "no match"
            lines.append("\(registration.platform), \(kind): \(verdict), \(registration.reason)")
            if let expression = registration.expression { lines += self.lines(expression, depth: 1) }
        }
        if let stream = device.stream { lines.append(text(stream)) }
        return lines
    }

    /// The parts of an expression, one on each line, with their own parts below them.
    private static func lines(_ part: TagEvaluation, depth: Int) -> [String] {
        let indent = String(repeating: "  ", count: depth)
        return ["\(indent)\(part.holds ? "yes" : "no")  \(part.expression)"]
            + (part.operands ?? []).flatMap { lines($0, depth: depth + 1) }
    }

    private static func text(_ stream: StreamReport) -> String {
        var parts = [stream.isOpen ? "Its stream is open" : "Its stream is closed"]
        if let at = stream.connectedAt { parts.append("opened \(time(at))") }
        if let at = stream.disconnectedAt { parts.append("closed \(time(at))") }
        if let position = stream.position { parts.append("written up to position \(position)") }
        return parts.joined(separator: ", ")
    }

    private static func list(_ names: [String]) -> String { names.isEmpty ? "none" : names.joined(separator: ", ") }
}
