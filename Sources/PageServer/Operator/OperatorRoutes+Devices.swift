import Formats
import Foundation
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

extension OperatorRoutes {
    private static let shownDevices = 50
    /// The number of messages that are explained on a device's page; each is looked up.
    private static let explainedMessages = 10
    /// The largest number of characters of a template that a page shows.
    private static let shownBody = 1_000

    /// The fields by which devices can be searched.
    private enum Search: String, CaseIterable {
        case tag
        case user
        case handle
        case id

        var label: String {
            switch self {
            case .tag: "tag"
            case .user: "user"
            case .handle: "push handle"
            case .id: "installation id"
            }
        }
    }

    static func devices(_ request: OperatorRequest) async throws -> Response {
        let search = request.query["by"].flatMap(Search.init(rawValue:)) ?? .tag
        let text = String((request.query["q"] ?? "").trimming(\.isWhitespace))
        if search == .id, let id = try? InstallationID(text), try await request.hub.installation(id) != nil {
            return request.base.seeOther("\(request.root)devices/\(PercentEncoding.encode(id.text))")
        }
        let choice: RegistrationChoice
        do throws(ProtocolError) {
            choice = try text.isEmpty ? .all : self.choice(search, text)
        } catch {
            throw request.refusal(.badRequest, "This search is not valid", error.detail)
        }
        let from = try start(request)
        let (answer, next) = try await request.hub.page(of: choice, from: from, count: shownDevices)
        var page = request.page(.devices, "Devices")
        page.search = OperatorForm(
            search: "\(request.root)devices",
            [
                OperatorForm.Field(
                    "Find by",
                    name: "by",
                    choices: Search.allCases.map { ($0.rawValue, $0.label) },
                    selected: search.rawValue
                ),
                OperatorForm.Field("Name", name: "q", value: text),
            ],
            button: "Find"
        )
        let table = OperatorTable(
            "Registrations",
            ["Registration", "Platform", "Kind", "Push handle", "Tags", "Device"],
            answer.registrations.map { row($0, request) },
            empty: "No device was found."
        )
        let query = "by=\(search.rawValue)&q=\(PercentEncoding.encode(text))"
        let more = next.map { next in
            let href = "\(request.root)devices?\(query)&from=\(PercentEncoding.encode(next))"
            return OperatorLink("More devices", href: href)
        }
        let title = "Phones, browsers and desktops"
        page.sections = [OperatorSection(title, lines: answer.problems, table: table, link: more)]
        if let streams = try await streams(choice, query, request) { page.sections.append(streams) }
        return request.base.page(page)
    }

    /// Agents and readers' pages, which have installations and no registrations.
    ///
    /// - Returns: `nil` for a search that cannot find any.
    private static func streams(
        _ choice: RegistrationChoice,
        _ query: String,
        _ request: OperatorRequest
    ) async throws -> OperatorSection? {
        let tag: Tag?
        switch choice {
        case .all: tag = nil
        case .tag(let given): tag = given
        case .handle: return nil
        }
        let start = request.query["agents"].flatMap { Int64($0) }.map { max(0, $0) }
        let page = try await request.hub.streamInstallations(
            with: tag,
            from: start.map { "\($0)" },
            count: shownDevices
        )
        let rows = page.installations.map { entry -> [OperatorTable.Cell] in
            [
                request.cell(entry.id), .init(entry.user ?? ""), .init(words.firstTags(entry.tags)),
                .init(entry.expiresAt.map(words.time) ?? "never"),
            ]
        }
        let table = OperatorTable(
            "Agents and pages",
            ["Installation", "User", "Tags", "Expires"],
            rows,
            empty: page.next == nil ? "No agent and no page was found." : "None among these."
        )
        let more = page.next.map {
            OperatorLink("More agents and pages", href: "\(request.root)devices?\(query)&agents=\($0)")
        }
        return OperatorSection("Agents and readers' pages", table: table, link: more)
    }

    private static func choice(_ search: Search, _ text: String) throws(ProtocolError) -> RegistrationChoice {
        switch search {
        case .tag: .tag(try Tag(text))
        case .user: .tag(.user(try UserID(text)))
        case .handle: .handle(text)
        case .id: .tag(.installation(try InstallationID(text)))
        }
    }

    /// The start of a page of results, checked here so that the page has words of its own for it.
    private static func start(_ request: OperatorRequest) throws -> String? {
        guard let text = request.query["from"] else { return nil }
        guard let token = try? ContinuationToken(parsing: text) else {
            throw request.refusal(.badRequest, "There is no such page", "Search again.")
        }
        return token.text
    }

    private static func row(_ registration: Registration, _ request: OperatorRequest) -> [OperatorTable.Cell] {
        let device = registration.tags.lazy.compactMap(\.installationID).first
        return [
            request.cell(registration.id), .init("\(registration.platform)"), .init(words.kind(registration)),
            .init(words.shortHandle(registration.pushChannel.handle)),
            .init(words.firstTags(registration.tags.map(\.text))),
            device.map(request.cell) ?? .init(""),
        ]
    }

    // MARK: One device

    static func device(_ request: OperatorRequest) async throws -> Response {
        guard let id = try? InstallationID(request.parameter("id")) else { throw PageRefusal.notFound }
        guard let installation = try await request.hub.installation(id) else {
            throw request.refusal(.notFound, "There is no such device", "The hub has no installation with this id.")
        }
        let templates = installation.templates.sorted { $0.key < $1.key }.map {
            name,
            template -> [OperatorTable.Cell] in
            [.init(name), .init(words.list(template.tags.map(\.text))), .init(String(template.body.prefix(shownBody)))]
        }
        let table = OperatorTable("Templates", ["Name", "Tags", "Body"], templates, empty: "It has no templates.")
        let sections = [
            OperatorSection("Installation", facts: words.facts(installation)),
            try await lastMessages(of: id.text, request),
            OperatorSection("Templates", table: table),
        ]
        return request.answer(.devices, "Device", sections)
    }

    /// The newest messages of the hub, each with the reason why a device got it or did not.
    private static func lastMessages(of device: String, _ request: OperatorRequest) async throws -> OperatorSection {
        let query = "device=\(PercentEncoding.encode(device))"
        let rows = try await request.hub.messages(explainedTo: device, count: explainedMessages).map {
            message -> [OperatorTable.Cell] in
            [
                .init(shownTitle(message), link: "\(request.root)messages/\(message.id)?\(query)"),
                .init(words.time(message.acceptedAt)), .init(message.device?.outcome.rawValue ?? ""),
                .init(message.device?.explanation.first ?? ""),
            ]
        }
        let table = OperatorTable(
            "Newest messages",
            ["Title", "Accepted", "Outcome", "Why"],
            rows,
            empty: "The hub has no message."
        )
        return OperatorSection(
            "The newest messages, and why it got them or did not",
            table: table,
            link: OperatorLink("All messages", href: "\(request.root)messages?\(query)")
        )
    }

    static func registration(_ request: OperatorRequest) async throws -> Response {
        guard let id = try? RegistrationID(request.parameter("id")) else { throw PageRefusal.notFound }
        let registration = try await request.hub.registration(id)
        let facts = words.facts(registration, bodyLimit: shownBody)
        let messages = try await lastMessages(of: registration.pushChannel.handle, request)
        return request.answer(.devices, "Registration", [OperatorSection("Registration", facts: facts), messages])
    }
}
