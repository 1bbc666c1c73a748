import HubProtocol
import HubRouting
import HubStore

/// The languages of a hub's categories, as publishers have reported them, by the folded category.
///
/// A report can have half a MiB, and every page view needs the languages, so reports are read once for each change.
struct ReportedLanguages: Sendable {
    /// Time after which reports are read again, because they expire.
    private static let lifetime = Duration.seconds(3_600)

    private let revision: Int
    private let readAt: Duration
    private let reading: Task<[String: [LanguageName]], any Error>

    /// Begins to read the reports.
    init(of hub: Hub) {
        // A report that comes during the reading has another revision.
        revision = hub.status.reportRevision
        readAt = hub.configuration.monotonic()
        reading = Task { try await Self.read(hub) }
    }

    var names: [String: [LanguageName]] { get async throws { try await reading.value } }

    func isCurrent(of hub: Hub) -> Bool {
        revision == hub.status.reportRevision && hub.configuration.monotonic() - readAt < Self.lifetime
    }

    private static func read(_ hub: Hub) async throws -> [String: [LanguageName]] {
        let since = hub.configuration.timestamp - PublisherReport.lifetime
        let publishers = try await hub.store.publishers(hub: hub.record.id, since: since)
        var languages: [String: [LanguageName]] = [:]
        for (category, names) in publishers.flatMap({ $0.languages ?? [:] }).sorted(by: { $0.key < $1.key }) {
            guard let tag = try? Tag(category) else { continue }
            let known = languages[tag.folded, default: []]
            let new = names.compactMap { try? LanguageName($0) }.filter { !known.contains($0) }
            languages[tag.folded] = known + new
        }
        return languages
    }
}
