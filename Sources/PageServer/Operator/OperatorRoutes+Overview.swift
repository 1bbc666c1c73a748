import Formats
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

extension OperatorRoutes {
    /// The largest number of categories on a page; each is counted.
    private static let shownCategories = 20

    static func overview(_ request: OperatorRequest) async throws -> Response {
        let overview = try await request.hub.overview()
        let publishers = try await request.hub.publishers()
        let alarms = OperatorLink("Alarms", href: "\(request.root)alarms")
        let sections =
            words.sections(overview, at: request.base.now, alarmLink: alarms) + [feedSection(publishers, request)]
        let last = HubFigures.Span.hour.start(of: request.base.now)
        let start = Timestamp(milliseconds: last.milliseconds - Int64(shownHours - 1) * 3_600_000)
        let nodes = try await request.hub.figures(.hour, since: start)
        let missing = nodes.filter { $0.records == nil }.compactMap(\.node).joined(separator: ", ")
        var pictures = OperatorSection("Last three days\(missing.isEmpty ? "" : ", without \(missing): no answer")")
        pictures.charts = charts(nodes, publishers, from: start).filter { !$0.isEmpty }
        if pictures.charts.isEmpty { pictures.lines = ["Pictures of messages and devices appear after a few minutes."] }
        return request.answer(.overview, "Overview of \(overview.hub)", [state(sections), pictures] + sections)
    }

    /// The facts that need an operator, or the statement that there is none.
    private static func state(_ sections: [OperatorSection]) -> OperatorSection {
        let bad = sections.flatMap(\.facts).filter(\.isBad)
        return OperatorSection("State", facts: bad, lines: bad.isEmpty ? ["All is well."] : [])
    }

    /// The hours of one node.
    private static func hours(
        _ stored: [(at: Timestamp, figures: HubFigures)],
        from start: Timestamp
    ) -> [HubFigures] {
        // An hour without a record is one in which nothing happened, and the state was as before.
        var hours = [HubFigures](repeating: HubFigures(), count: shownHours)
        for (at, figures) in stored {
            let place = Int((at.milliseconds - start.milliseconds) / 3_600_000)
            if hours.indices.contains(place) { hours[place] = figures }
        }
        let known = Set(stored.map(\.at))
        for place in hours.indices.dropFirst() {
            // 0 is unknown, as in records of earlier versions.
            if hours[place].freeBytes == 0 {
                hours[place].logBytes = hours[place - 1].logBytes
                hours[place].freeBytes = hours[place - 1].freeBytes
            }
            guard !known.contains(Timestamp(milliseconds: start.milliseconds + Int64(place) * 3_600_000)) else {
                continue
            }
            hours[place].registrations = hours[place - 1].registrations
            hours[place].streams = hours[place - 1].streams
        }
        return hours
    }

    private static func charts(
        _ nodes: [NodeFigures],
        _ publishers: [PublisherSummary],
        from start: Timestamp
    ) -> [Chart] {
        let known = nodes.compactMap { node in
            node.records.map { (name: node.node, hours: Self.hours($0, from: start)) }
        }
        let hours = known.dropFirst().reduce(known.first?.hours ?? []) { sums, node in
            zip(sums, node.hours).map { $0.beside($1) }
        }
        func chart(_ title: String, isSum: Bool, _ values: (HubFigures) -> [String: Int]) -> Chart {
            Chart(title, from: start, hours: hours.map(values), isSum: isSum)
        }
        func times(_ title: String, _ isOfChart: (String) -> Bool) -> Chart {
            let times = hours.map { hour in
                hour.times.filter { isOfChart($0.key) }.values.reduce(TimeHistogram(), +)
            }
            return Chart(title, from: start, times: times, words)
        }
        let stream = Platform.stream.rawValue
        return [
            chart("Messages accepted", isSum: true) { ["messages": $0.accepted] },
            chart("Written to streams", isSum: true) { ["messages": $0.written] },
            times("Time to the last open stream") { $0 == stream },
            chart("Outcomes of push services", isSum: true) { $0.outcomes },
            times("Time to a push service's last answer") { $0 != stream },
            Chart("Polls of feeds", from: start, hours: polls(publishers, from: start), isSum: true),
            chart("Registrations", isSum: false) { $0.registrations },
            chart("Open streams", isSum: false) { ["streams": $0.streams] },
            chart("Log, in kB", isSum: false) { ["kB": $0.logBytes / 1_000] },
            Chart("Free disk space, in MB", from: start, hours: freeSpace(known), isSum: false),
        ]
    }

    /// The free disk space in each hour, by node.
    private static func freeSpace(_ nodes: [(name: String?, hours: [HubFigures])]) -> [[String: Int]] {
        (0..<shownHours).map { hour in
            nodes.reduce(into: [:]) { $0[$1.name.map { "node \($0)" } ?? "MB"] = $1.hours[hour].freeBytes / 1_000_000 }
        }
    }

    /// The polls of all publishers in each hour, by outcome.
    private static func polls(_ publishers: [PublisherSummary], from start: Timestamp) -> [[String: Int]] {
        var hours = [[String: Int]](repeating: [:], count: shownHours)
        for polls in publishers.compactMap(\.pollHours) where polls.isValid {
            guard let first = ISODateTime.parse(polls.start) else { continue }
            let offset = Int((Timestamp(first).milliseconds - start.milliseconds) / 3_600_000)
            for (outcome, counts) in [
                (FeedPolls.Outcome.read, polls.read), (.unchanged, polls.unchanged), (.failed, polls.failed),
            ] {
                for (hour, count) in counts.enumerated() where hours.indices.contains(offset + hour) {
                    hours[offset + hour][outcome.name, default: 0] += count
                }
            }
        }
        return hours
    }

    /// Number of hours in the pictures.
    private static let shownHours = 72
}

// MARK: - Categories

extension OperatorRoutes {
    static func categories(_ request: OperatorRequest) async throws -> Response {
        let names = try await request.hub.categories()
        let (shown, next) = request.part(of: names, shownCategories)
        var rows: [[OperatorTable.Cell]] = []
        for name in shown { rows.append(try await row(of: name, request)) }
        let table = OperatorTable(
            "Categories",
            ["Category", "Subscribers", "Last message", "Action"],
            rows,
            empty: "No publisher has announced a category."
        )
        let section = OperatorSection(Counted.text(names.count, "category", "categories"), table: table)
        let more = next.map { OperatorLink("More categories", href: "\(request.root)categories?from=\($0)") }
        return request.answer(.categories, "Categories", [section], more: more)
    }

    private static func row(of name: String, _ request: OperatorRequest) async throws -> [OperatorTable.Cell] {
        let escaped = PercentEncoding.encode(name)
        let counts = try await request.hub.recipients(tags: name)
        let tags = (try? Tag(name)).map { [$0] } ?? []
        let last = try await request.hub.news(of: tags, language: nil, since: nil).storyVersions.first
        return [
            .init(name, link: "\(request.root)devices?by=tag&q=\(escaped)"),
            .init(words.counts(counts.platforms), isBad: counts.total == 0),
            .init(last.map { "\(words.time($0.at)): \($0.title)" } ?? "none"),
            .init("Send", link: "\(request.root)send?category=\(escaped)"),
        ]
    }
}
