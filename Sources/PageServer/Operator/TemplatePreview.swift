import HubProtocol
import HubServer
import WebPages

/// A message as devices of each platform get it, through the template that most of its registrations have.
struct TemplatePreview {
    /// The number of registrations that are read for it, and the largest number of characters that are shown.
    private static let (maximumRead, maximumShown) = (300, 1_000)

    private struct Use {
        var count = 0
        var names: Set<String> = []
    }

    private let read: Int
    private let byPlatform: [String: [String?: Use]]

    /// Reads the first registrations that have one of these tags; without tags, the first ones of the hub.
    ///
    /// An expression with operators selects no page of registrations, and has none.
    init(of tags: String?, _ hub: LocalHub) async throws(HubError) {
        var byPlatform: [String: [String?: Use]] = [:]
        var (read, next): (Int, String?) = (0, nil)
        let tag = tags.map { try? Tag($0) }
        if tags == nil || tag ?? nil != nil {
            let choice: RegistrationChoice = (tag ?? nil).map { .tag($0) } ?? .all
            repeat {
                let page = try await hub.page(of: choice, from: next, count: PageSize.maximum)
                for registration in page.answer.registrations where registration.platform != .stream {
                    let body = registration.template?.body
                    var use = byPlatform["\(registration.platform)"]?[body] ?? Use()
                    use.count += 1
                    if let name = registration.template?.name, !name.isEmpty { use.names.insert(name) }
                    byPlatform["\(registration.platform)", default: [:]][body] = use
                }
                read += page.answer.registrations.count
                next = page.next
            } while next != nil && read < Self.maximumRead
        }
        (self.byPlatform, self.read) = (byPlatform, read)
    }

    /// One fact for each platform.
    func facts(_ properties: MessageProperties) -> [ReportFact] {
        byPlatform.sorted { $0.key < $1.key }.compactMap { platform, uses in
            let sum = uses.values.reduce(0) { $0 + $1.count }
            let most = uses.max { ($0.value.count, $1.key ?? "") < ($1.value.count, $0.key ?? "") }
            guard let most else { return nil }
            return ReportFact(platform, text(most.key, most.value, of: sum, properties))
        }
    }

    private func text(_ body: String?, _ use: Use, of sum: Int, _ properties: MessageProperties) -> String {
        guard let body else { return "\(use.count) of \(sum) are native registrations, which get native messages only" }
        let name = use.names.sorted().first.map { "'\($0)'" } ?? "without a name"
        let rendered = (try? Template(parsing: body))?.render(properties) ?? "(it cannot be rendered)"
        let shown = rendered.count > Self.maximumShown ? "\(rendered.prefix(Self.maximumShown))…" : rendered
        return "template \(name), \(use.count) of \(sum):\n\(shown)"
    }
}
