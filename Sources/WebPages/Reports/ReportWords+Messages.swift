package import HubProtocol

extension ReportWords {
    /// The audience of a message.
    package func audience(_ message: MessageReport) -> String {
        let test = message.isTest == true ? ", a test for at most \(NotificationOutcome.maximumResults)" : ""
        return (message.handles.map { Counted.text($0, "handle") } ?? message.tags ?? "everybody") + test
    }

    /// The title of a message, or else its text, or the reason why they are not shown.
    package func title(_ message: MessageReport) -> String {
        withheld(message) ?? message.title ?? message.text ?? ""
    }

    private func withheld(_ message: MessageReport) -> String? {
        guard let reason = message.withheld else { return nil }
        if reason == .secure { return "(secure: only its addressee can read it)" }
        return reason == .personal ? "(to persons or devices: not shown)" : "(not shown: \(reason.rawValue))"
    }

    /// The number of recipients on each platform.
    package func matched(_ message: MessageReport) -> String {
        message.matched.map { counts($0, none: "nobody") } ?? "not counted"
    }

    /// The outcomes of a message at all its targets.
    package func outcomes(_ message: MessageReport) -> String {
        guard message.position != nil else { return "not sent yet" }
        let hasStreams = message.streams.matched > 0 || message.streams.gone > 0
        let pushes = pushes(message).map { "\($0.name): \($0.value)" }
        return ((hasStreams ? ["stream: \(outcomes(message.streams))"] : []) + pushes).joined(separator: "; ")
    }

    private func outcomes(_ streams: StreamOutcomes) -> String {
        let parts = [
            "\(streams.written) written (\(streams.resumedPast) resumed past)", "\(streams.pending) pending",
            "\(streams.expired) expired", streams.tooLarge.map { "\($0) too large" },
            streams.gone > 0 ? "\(streams.gone) removed since" : nil,
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }

    /// The outcomes at each push service.
    private func pushes(_ message: MessageReport) -> [ReportFact] {
        .init(message.outcomes?.filter { $0.key != Platform.stream.rawValue }, { $0 }, { counts($1) })
    }

    /// Returns a message's content, as far as the report has it, and its outcomes.
    package func facts(_ message: MessageReport) -> [ReportFact] {
        let withheld = withheld(message)
        let isSent = message.position != nil
        let content = [
            ReportFact("Message", message.id.text),
            ReportFact(
                "Accepted",
                time(message.acceptedAt) + (message.expiresAt.map { ", kept until \(time($0))" } ?? "")
            ),
            ReportFact("Due", message.dueAt.map(time)), ReportFact("Canceled", message.canceledAt.map(time)),
            ReportFact("Format", message.format.map { "\($0)" }), ReportFact("For", audience(message)),
            ReportFact("Title", withheld ?? message.title), ReportFact("Text", withheld == nil ? message.text : nil),
        ]
        let outcome = [
            ReportFact("State", message.state.rawValue, isBad: message.state.isBad),
            ReportFact("Matched", isSent ? matched(message) : nil),
            ReportFact("Streams", isSent ? outcomes(message.streams) : nil),
        ]
        return content.compactMap(\.self) + .init(message.headers, { _ in "Header" }, { "\($0): \($1)" })
            + outcome.compactMap(\.self) + pushes(message)
    }

    /// The times to the deliveries of a message.
    package func times(_ message: MessageReport) -> [ReportFact] {
        .init(
            message.times,
            { name in
                name == Platform.stream.rawValue ? "Written to streams" : "Answered by \(name)"
            },
            { _, times in
                let last = times.last.map { $0 == times.first ? "" : ", the last after \(span($0))" }
                return "after \(span(times.first))" + (last ?? ", not all yet")
            }
        )
    }

    private func span(_ seconds: Double) -> String { span(milliseconds: Int(min(max(0, seconds), 1e9) * 1_000)) }

    // MARK: - One device

    /// The reasons why a device got a message or did not.
    package func facts(_ device: DeviceReport) -> [ReportFact] {
        let reasons = [
            ReportFact("Why", device.explanation.joined(separator: "\n")),
            ReportFact("Tags", device.tags.map { list($0) }), ReportFact("Tags now", device.tagsNow.map { list($0) }),
        ]
        // On push platforms each template is one of the registrations.
        let templates = (device.registrations == nil ? device.templates ?? [] : []).map(fact)
        return
            (reasons + templates + (device.registrations ?? []).map(fact)
            + [ReportFact("Stream", device.stream.map(text))]).compactMap(\.self)
    }

    private func fact(_ template: TemplateReport) -> ReportFact? {
        let own = template.tags.isEmpty ? "" : ", with the tags \(list(template.tags))"
        let match = template.isEmpty ? "matches, and shows nothing" : "matches"
        let verdict = template.matches ? match : "does not match"
        return ReportFact("Template", lines(["'\(template.name)'\(own): \(verdict)"], template.expression))
    }

    private func fact(_ registration: RegistrationReport) -> ReportFact? {
        let kind = registration.template.map { "template '\($0)'" } ?? "native"
        let tile = registration.tile.map { ", tile '\($0)'" } ?? ""
        let id = registration.id.map { " \($0)" } ?? ""
        let now = registration.tagsNow.map { "  its tags now: \(list($0))" }
        return ReportFact(
            registration.matches ? "Match" : "No match",
            lines(
                ["\(registration.platform) \(kind)\(tile)\(id)", "  \(registration.reason)", now],
                registration.expression
            )
        )
    }

    private func lines(_ lines: [String?], _ expression: TagEvaluation?) -> String {
        (lines.compactMap(\.self) + (expression.map { self.lines($0, depth: 1) } ?? [])).joined(separator: "\n")
    }

    /// Returns one line for each part of an expression, followed by the indented lines of its operands.
    private func lines(_ part: TagEvaluation, depth: Int) -> [String] {
        let indent = String(repeating: "  ", count: depth)
        return ["\(indent)\(part.holds ? "yes" : "no ") \(part.expression)"]
            + (part.operands ?? []).flatMap { lines($0, depth: depth + 1) }
    }

    private func text(_ stream: StreamReport) -> String {
        let parts = [
            stream.isOpen ? "open" : "closed", stream.connectedAt.map { "opened \(time($0))" },
            stream.disconnectedAt.map { "closed \(time($0))" },
            stream.position.map { "written up to position \($0)" },
            stream.resumedFrom.map { "last resumed from cursor \($0)" },
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }
}

extension MessageState {
    /// True if the message needs an operator's attention.
    package var isBad: Bool { self == .abandoned || self == .noTargetFound }
}
