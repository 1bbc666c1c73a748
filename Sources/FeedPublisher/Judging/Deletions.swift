internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Entries that a feed's publisher has deleted with a notice.
///
/// Source: RFC 6721.
extension NewsJudge {
    /// Returns the keys of the stories that this feed may have announced under deleted identifiers.
    func deletionKeys() -> [EntryKey] { deletions().map { $0.key } }

    /// Withdraws the stories that this feed announced itself under deleted identifiers, once.
    func withdrawDeleted(_ seen: SeenState) -> (announcements: [Announcement], closed: [StoryChange]) {
        var announcements: [Announcement] = []
        var closed: [StoryChange] = []
        var names: Set<String> = []
        for (id, key) in deletions() {
            guard let story = seen.stories[key], story.feed == record.id, !story.isWithdrawn,
                names.insert(story.name).inserted
            else { continue }
            var change =
                feedLanguage.language == nil
                ? StoryChange(withdrawing: [story], in: story.others, else: story.name)
                : StoryChange(.withdrawn, of: [story], by: feedLanguage, else: story.name)
            change.keys = [key]
            change.content = story.content
            guard change.status != nil else {
                closed.append(change)
                continue
            }
            var entry = Entry()
            entry.id = id
            entry.title = story.headline
            announcements.append(Announcement(entry: entry, index: -1, date: nil, change: change))
        }
        return (announcements, closed)
    }

    /// Returns the deleted identifiers that are not also in the document, which then counts, with their keys.
    private func deletions() -> [(id: String, key: EntryKey)] {
        guard !feed.deletedIDs.isEmpty, record.baseline != nil else { return [] }
        let present = Set(entries.compactMap(\.entry.id))
        return feed.deletedIDs.filter { !present.contains($0) }.map { id in
            (id, EntryKey(EntryKey(id: id), feed: number))
        }
    }
}
