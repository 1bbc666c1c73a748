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

    /// By platform and body; `nil` for native registrations.
    private var uses: [String: [String?: Use]] = [:]

    /// Reads the first registrations with a tag; with `nil`, the first ones of the hub.
    ///
    /// Registrations cannot be listed by an expression with operators: it has no preview.
    init(of tags: String?, _ hub: LocalHub) async throws(HubError) {
        var choice = RegistrationChoice.all
        if let tags {
            guard let tag = try? Tag(tags) else { return }
            choice = .tag(tag)
        }
        var (read, next): (Int, String?) = (0, nil)
        repeat {
            let page = try await hub.page(of: choice, from: next, count: PageSize.maximum)
            for registration in page.answer.registrations where registration.platform != .stream { count(registration) }
            read += page.answer.registrations.count
            next = page.next
        } while next != nil && read < Self.maximumRead
    }

    private mutating func count(_ registration: Registration) {
        let (platform, template) = ("\(registration.platform)", registration.template)
        var use = uses[platform]?[template?.body] ?? Use()
        use.count += 1
        if let name = template?.name, !name.isEmpty { use.names.insert(name) }
        uses[platform, default: [:]][template?.body] = use
    }

    /// One fact for each platform.
    func facts(_ properties: MessageProperties) -> [ReportFact] {
        uses.sorted { $0.key < $1.key }.compactMap { platform, uses in
            let sum = uses.values.reduce(0) { $0 + $1.count }
            let most = uses.max { ($0.value.count, $1.key ?? "") < ($1.value.count, $0.key ?? "") }
            return most.flatMap { ReportFact(platform, text($0.key, $0.value, of: sum, properties)) }
        }
    }

    private func text(_ body: String?, _ use: Use, of sum: Int, _ properties: MessageProperties) -> String {
        guard let body else { return "\(use.count) of \(sum) are native registrations, which get native messages only" }
        let name = use.names.min().map { "'\($0)'" } ?? "without a name"
        let rendered = (try? Template(parsing: body))?.render(properties) ?? "(it cannot be rendered)"
        let shown = rendered.count > Self.maximumShown ? "\(rendered.prefix(Self.maximumShown))…" : rendered
        return "template \(name), \(use.count) of \(sum):\n\(shown)"
    }
}
