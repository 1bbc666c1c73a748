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
        let sections = words.sections(overview, at: request.base.now, alarmLink: alarms)
        return request.answer(.overview, "Overview of \(overview.hub)", sections + [feedSection(publishers, request)])
    }
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
