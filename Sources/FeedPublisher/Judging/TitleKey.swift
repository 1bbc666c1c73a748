internal import Feeds
internal import FoundationEssentials

/// A hash of what a reader would know an entry by: its title and its date.
enum TitleKey {
    /// `nil` for an entry without a title.
    static func of(_ entry: Entry) -> EntryKey? {
        guard let title = entry.title, !title.isEmpty else { return nil }
        let date = entry.date.map { "\0\($0.timeIntervalSince1970.rounded())" } ?? ""
        return EntryKey(hashing: Array("title\0\(title)\(date)".utf8))
    }
}
