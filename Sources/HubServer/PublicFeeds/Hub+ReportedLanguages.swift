import HubProtocol
import HubRouting
import HubStore

extension Hub {
    /// Reads the languages of the hub's categories by the folded category, as publishers have reported them in the last
    /// days.
    ///
    /// - Throws: A `DatabaseError`.
    func reportedLanguages() async throws -> [String: [LanguageName]] {
        let since = configuration.timestamp - PublisherReport.lifetime
        let publishers = try await store.publishers(hub: record.id, since: since)
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
