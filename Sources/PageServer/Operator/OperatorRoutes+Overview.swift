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
        var page = request.page(.overview, "Overview of \(overview.hub)")
        let alarms = OperatorLink("Alarms", href: "\(request.root)alarms")
        page.sections = words.sections(overview, at: request.base.now, alarmLink: alarms)
        page.sections.append(feedSection(publishers, request))
        return request.base.page(page)
    }
}

// MARK: - Categories

extension OperatorRoutes {
    static func categories(_ request: OperatorRequest) async throws -> Response {
        let names = try await request.hub.categories()
        let (shown, next) = request.part(of: names, shownCategories)
        var rows: [[OperatorTable.Cell]] = []
        for name in shown { rows.append(try await row(of: name, request)) }
        var page = request.page(.categories, "Categories")
        let table = OperatorTable(
            "Categories",
            ["Category", "Subscribers", "Last message", "Action"],
            rows,
            empty: "No publisher has announced a category."
        )
        page.sections = [OperatorSection(Counted.text(names.count, "category", "categories"), table: table)]
        page.more = next.map { OperatorLink("More categories", href: "\(request.root)categories?from=\($0)") }
        return request.base.page(page)
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
