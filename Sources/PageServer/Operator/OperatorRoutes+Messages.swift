import Formats
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

extension OperatorRoutes {
    private static let shownMessages = 20
    private static let shownFailures = 100
    /// The number of pages of failed devices that are searched for an outcome.
    private static let searchedPages = 20
    private static let shownScheduled = 100

    static func messages(_ request: OperatorRequest) async throws -> Response {
        let before = try place(request)
        let device = request.query["device"].flatMap { $0.isEmpty ? nil : $0 }
        let filter = MessageFilter(request.query)
        let (reports, next) = try await selected(filter, before: before, request)
        let deviceQuery = device.map { "device=\(PercentEncoding.encode($0))" }
        let rows = reports.map { message -> [OperatorTable.Cell] in
            let query = deviceQuery.map { "?\($0)" } ?? ""
            return [
                .init(shownTitle(message), link: "\(request.root)messages/\(message.id)\(query)"),
                .init(words.audience(message)), .init(words.time(message.acceptedAt)),
                .init(message.state.rawValue, isBad: message.state.isBad), .init(words.matched(message)),
                .init(words.outcomes(message)),
            ]
        }
        var page = request.page(.messages, "Messages")
        page.search = try await search(filter, device: device, request)
        if let device {
            page.sections.append(
                OperatorSection("Device", lines: ["Each message explains why \(device) got it, or did not."])
            )
        }
        let table = OperatorTable(
            "Messages",
            ["Title", "For", "Accepted", "State", "Matched", "Outcomes"],
            rows,
            empty: next == nil ? "There are no messages here." : "None of the messages that were searched matches."
        )
        page.sections.append(OperatorSection(before == .end ? "Newest" : "Earlier", table: table))
        if let next {
            let parts = ["before=\(next)", deviceQuery, filter.isEmpty ? nil : filter.query]
            let query = parts.compactMap { $0 }.joined(separator: "&")
            let label = filter.isEmpty ? "Earlier messages" : "Search further"
            page.more = OperatorLink(label, href: "\(request.root)messages?\(query)")
        }
        return request.base.page(page)
    }

    /// The next messages of a choice, and the position before which the search goes on; `nil` at its end.
    ///
    /// It reads a bounded number of messages.
    private static func selected(
        _ filter: MessageFilter,
        before place: LogSequence,
        _ request: OperatorRequest
    ) async throws -> ([MessageReport], next: LogSequence?) {
        let count = filter.isEmpty ? shownMessages : MessageFilter.read
        var (found, place, read): ([MessageReport], LogSequence, Int) = ([], place, 0)
        while true {
            let reports = try await request.hub.messages(before: place, count: count)
            read += reports.count
            for report in reports {
                if filter.isPast(report) { return (found, nil) }
                place = report.position ?? place
                if filter.selects(report) { found.append(report) }
                if found.count == shownMessages { return (found, place) }
            }
            guard reports.count == count else { return (found, nil) }
            guard read < MessageFilter.maximumRead else { return (found, place) }
        }
    }

    private static func search(
        _ filter: MessageFilter,
        device: String?,
        _ request: OperatorRequest
    ) async throws -> OperatorForm {
        typealias Field = OperatorForm.Field
        let known = try await request.hub.categories()
        let categories = known.contains(filter.category) || filter.category.isEmpty ? known : known + [filter.category]
        var fields = [
            Field("Words", name: "q", value: filter.text),
            Field(
                "Category",
                name: "category",
                choices: [("", "All")] + categories.map { ($0, $0) },
                selected: filter.category
            ),
            Field(
                "State",
                name: "state",
                choices: [("", "All")] + MessageFilter.states.map { ($0.rawValue, $0.rawValue) },
                selected: filter.state
            ),
            Field("Day (UTC)", name: "day", value: filter.day, type: "date"),
        ]
        if let device { fields.append(Field("Device", name: "device", value: device)) }
        return OperatorForm(search: "\(request.root)messages", fields, button: "Filter")
    }

    /// The title of a message; a message without one has its format, or its id.
    static func shownTitle(_ message: MessageReport) -> String {
        let title = words.title(message)
        return title.isEmpty ? message.format.map { "(\($0))" } ?? "(message \(message.id))" : title
    }

    private static func place(_ request: OperatorRequest) throws -> LogSequence {
        guard let text = request.query["before"] else { return .end }
        guard let place = Int64(text), place > 0 else {
            throw request.refusal(.badRequest, "There is no such page", "The address has no valid position.")
        }
        return LogSequence(rawValue: place)
    }

    // MARK: One message

    static func message(_ request: OperatorRequest) async throws -> Response {
        let id = try messageID(request)
        let device = request.query["device"].flatMap { $0.isEmpty ? nil : $0 }
        let report = try await request.hub.report(on: id, device: device)
        var page = request.page(.messages, "Message")
        page.search = OperatorForm(
            search: "\(request.root)messages/\(id)",
            [OperatorForm.Field("Why did a device get it, or not?", name: "device", value: device ?? "")],
            button: "Explain",
            hint: "The id of an installation, or a push handle."
        )
        page.isSearchLast = device == nil
        let story = Result { () throws(SentStory.Refusal) in try SentStory(report) }
        page.sections = [replacing(report, story, request)]
        if let device = report.device {
            page.sections.append(OperatorSection("This device", facts: words.facts(device)))
        }
        page.sections.append(OperatorSection("Outcome", facts: words.facts(report)))
        page.sections.append(try await timeline(report, try? story.get(), request))
        if let story = try? story.get() {
            let rendered = try await TemplatePreview(of: story.tags, request.hub).facts(story.properties)
            if !rendered.isEmpty { page.sections.append(OperatorSection("As apps get it", facts: rendered)) }
        }
        if report.state != .scheduled, report.state != .canceled {
            let failures = try await failures(of: id, request)
            page.sections += [reasons(report, request), failures].compactMap(\.self)
        }
        return request.base.page(page)
    }

    /// The events of a message and of its story, in order.
    private static func timeline(
        _ report: MessageReport,
        _ story: SentStory?,
        _ request: OperatorRequest
    ) async throws -> OperatorSection {
        let sentAt = report.dueAt ?? report.acceptedAt
        var (earlier, later): ([[OperatorTable.Cell]], [[OperatorTable.Cell]]) = ([], [])
        if let story, let place = report.position {
            let versions = try await request.hub.sameStory(as: story, near: place)
            let own = versions.firstIndex { $0.story.id == story.id } ?? 0
            earlier = versions[..<own].map { row(of: $0.story, at: $0.at, request) }
            later = versions[own...].dropFirst().map { row(of: $0.story, at: $0.at, request) }
        }
        var rows = earlier
        if let dueAt = report.dueAt {
            rows.append([.init(words.time(report.acceptedAt)), .init("Scheduled for \(words.time(dueAt))")])
        }
        if report.position != nil {
            rows.append([.init(words.time(sentAt)), .init("Accepted, for \(words.matched(report))")])
        }
        for fact in words.times(report) { rows.append([.init(fact.value), .init(fact.name)]) }
        if let canceledAt = report.canceledAt { rows.append([.init(words.time(canceledAt)), .init("Canceled")]) }
        rows += later
        let table = OperatorTable("Timeline", ["Time", "Event"], rows, empty: "It has not been sent yet.")
        return OperatorSection("Timeline", table: table)
    }

    private static func row(
        of version: SentStory,
        at time: Timestamp,
        _ request: OperatorRequest
    ) -> [OperatorTable.Cell] {
        let text = "\(kind(of: version)) for \(version.tags ?? "everybody"): \(NewsText(version.properties).title)"
        return [.init(words.time(time)), .init(text, link: "\(request.root)messages/\(version.id)")]
    }

    /// The part of a story that a message is.
    private static func kind(of version: SentStory) -> String {
        switch version.properties[.status].flatMap(MessageStatus.init(rawValue:)) {
        case .correction: "Correction"
        case .withdrawn: "Withdrawal"
        case .update: "Update"
        case nil: "Message"
        }
    }

    /// The ways to correct and withdraw a message, or the reason why there is none.
    private static func replacing(
        _ report: MessageReport,
        _ story: Result<SentStory, SentStory.Refusal>,
        _ request: OperatorRequest
    ) -> OperatorSection {
        if case .failure(let refusal) = story {
            return OperatorSection(shownTitle(report), lines: ["It cannot be replaced: it \(refusal)."])
        }
        var section = OperatorSection(shownTitle(report))
        if report.position != nil {
            section.lines = ["Sent \(words.time(report.dueAt ?? report.acceptedAt)), for \(words.matched(report))."]
        }
        section.links = [("Correct", "correct"), ("Withdraw", "withdraw")].map { label, name in
            OperatorLink(label, href: "\(request.root)send?\(name)=\(report.id)")
        }
        return section
    }

    static func messageID(_ request: OperatorRequest) throws -> MessageID {
        guard let id = try? MessageID(request.parameter("id")) else { throw PageRefusal.notFound }
        return id
    }

    /// The number of devices by outcome; each failure links to its devices.
    private static func reasons(_ report: MessageReport, _ request: OperatorRequest) -> OperatorSection {
        let pushes = (report.outcomes ?? [:]).filter { $0.key != Platform.stream.rawValue }.sorted { $0.key < $1.key }
        let rows = pushes.flatMap { platform, counts in
            counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { outcome, count -> [OperatorTable.Cell] in
                let isGood = outcome == OutcomeName.success.rawValue
                let query = "platform=\(PercentEncoding.encode(platform))&outcome=\(PercentEncoding.encode(outcome))"
                let link = isGood ? nil : "\(request.root)messages/\(report.id)?\(query)"
                return [.init(platform), .init(outcome, link: link, isBad: !isGood), .init("\(count)")]
            }
        }
        let table = OperatorTable(
            "Outcomes at push services",
            ["Platform", "Outcome", "Devices"],
            rows,
            empty: "No push service has answered."
        )
        return OperatorSection("Outcomes at push services", table: table)
    }

    /// The failed devices, or those with the outcome that the query names.
    ///
    /// It reads a bounded number of devices.
    private static func failures(of id: MessageID, _ request: OperatorRequest) async throws -> OperatorSection? {
        let (platform, outcome) = (request.query["platform"], request.query["outcome"])
        var (targets, next, pages) = ([FailedTargets.Target](), request.query["failures"], 0)
        repeat {
            let page = try await request.hub.failures(of: id, from: next, count: shownFailures)
            targets += page.targets.filter {
                (platform == nil || $0.platform.rawValue == platform) && (outcome == nil || $0.outcome == outcome)
            }
            (next, pages) = (page.next, pages + 1)
        } while next != nil && targets.count < shownFailures && pages < searchedPages
        let isChosen = platform != nil || outcome != nil
        guard isChosen || !targets.isEmpty || next != nil else { return nil }
        let rows = targets.map { target -> [OperatorTable.Cell] in
            [
                .init("\(target.platform)"), name(of: target, request), .init(target.outcome), .init(target.reason),
            ]
        }
        let table = OperatorTable(
            "Failed devices",
            ["Platform", "Device", "Outcome", "Reason"],
            rows,
            empty: next == nil ? "There are none." : "None of the devices that were searched."
        )
        let more = next.map { next in
            let parts = [("failures", next), ("platform", platform), ("outcome", outcome)]
            let query = parts.compactMap { name, value in value.map { "\(name)=\(PercentEncoding.encode($0))" } }
            return OperatorLink("More devices", href: "\(request.root)messages/\(id)?\(query.joined(separator: "&"))")
        }
        let choice = [outcome, platform.map { "at \($0)" }].compactMap(\.self).joined(separator: " ")
        let title = "Failed devices on push services" + (choice.isEmpty ? "" : ": \(choice)")
        return OperatorSection(title, table: table, link: more)
    }

    private static func name(of target: FailedTargets.Target, _ request: OperatorRequest) -> OperatorTable.Cell {
        if let id = target.installation { return request.cell(id) }
        if let id = target.registration { return request.cell(id) }
        return .init(target.handle.map(words.shortHandle) ?? "gone")
    }

    // MARK: Scheduled sends

    static func scheduled(_ request: OperatorRequest) async throws -> Response {
        let reports = try await request.hub.scheduledMessages(shownScheduled).filter(request.mayShow)
        let rows = reports.map { message -> [OperatorTable.Cell] in
            [
                .init(shownTitle(message), link: request.isOnDeskOnly ? nil : "\(request.root)messages/\(message.id)"),
                .init(words.audience(message)), .init(words.time(message.dueAt ?? "")),
                .init(words.time(message.acceptedAt)),
                .init(button: "Cancel", action: "\(request.root)scheduled/\(message.id)/cancel"),
            ]
        }
        let table = OperatorTable(
            "Scheduled messages",
            ["Title", "For", "Due", "Accepted", "Action"],
            rows,
            empty: "No message is scheduled."
        )
        let section = OperatorSection("At most \(shownScheduled), the earliest first", table: table)
        return request.answer(.scheduled, "Scheduled", [section])
    }

    static func cancel(_ request: OperatorRequest) async throws -> Response {
        _ = try await request.base.form()
        let id = try messageID(request)
        if request.isOnDeskOnly, !request.mayShow(try await request.hub.report(on: id)) { throw PageRefusal.notFound }
        let wasThere = try await request.perform("cancel", "message \(id)", outcome: { $0 ? "canceled" : "unknown" }) {
            try await request.hub.cancel(id)
        }
        guard wasThere else {
            throw request.refusal(.notFound, "There is no such message", "No scheduled message has this id.")
        }
        return request.base.seeOther("\(request.root)scheduled")
    }
}
