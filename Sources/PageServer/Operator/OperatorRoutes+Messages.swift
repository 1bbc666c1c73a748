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
    ) async throws -> OperatorSearch {
        typealias Field = OperatorSearch.Field
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
        return OperatorSearch("\(request.root)messages", fields, button: "Filter")
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
        page.search = OperatorSearch(
            "\(request.root)messages/\(id)",
            [OperatorSearch.Field("Why did a device get it, or not?", name: "device", value: device ?? "")],
            button: "Explain"
        )
        page.search?.hint = "The id of an installation, or a push handle."
        if let device = report.device {
            page.sections.append(OperatorSection("This device", facts: words.facts(device)))
        }
        page.sections.append(OperatorSection("Outcome", facts: words.facts(report)))
        page.sections.append(replacing(report, request))
        if report.state != .scheduled, report.state != .canceled {
            page.sections.append(try await failures(of: id, request))
        }
        return request.base.page(page)
    }

    /// The ways to correct and withdraw a message, or the reason why there is none.
    private static func replacing(_ report: MessageReport, _ request: OperatorRequest) -> OperatorSection {
        do throws(SentStory.Refusal) {
            _ = try SentStory(report)
        } catch {
            return OperatorSection("Correct or withdraw", lines: ["It cannot be replaced: it \(error)."])
        }
        var section = OperatorSection("Correct or withdraw")
        section.links = [("Correct", "correct"), ("Withdraw", "withdraw")].map { label, name in
            OperatorLink(label, href: "\(request.root)send?\(name)=\(report.id)")
        }
        return section
    }

    static func messageID(_ request: OperatorRequest) throws -> MessageID {
        guard let id = try? MessageID(request.parameter("id")) else { throw PageRefusal.notFound }
        return id
    }

    private static func failures(of id: MessageID, _ request: OperatorRequest) async throws -> OperatorSection {
        let from = request.query["failures"]
        let failed = try await request.hub.failures(of: id, from: from, count: shownFailures)
        let rows = failed.targets.map { target -> [OperatorTable.Cell] in
            [
                .init("\(target.platform)"), name(of: target, request), .init(target.outcome), .init(target.reason),
            ]
        }
        let table = OperatorTable(
            "Failed devices",
            ["Platform", "Device", "Outcome", "Reason"],
            rows,
            empty: "No push service has failed."
        )
        let more = failed.next.map { next in
            let href = "\(request.root)messages/\(id)?failures=\(PercentEncoding.encode(next))"
            return OperatorLink("More devices", href: href)
        }
        return OperatorSection("Failed devices on push services", table: table, link: more)
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
