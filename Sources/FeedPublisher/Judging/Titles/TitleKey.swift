internal import Feeds
internal import FoundationEssentials

/// A hash of the title and date of an entry, by which a reader would recognize it.
enum TitleKey {
    /// Returns the key; `nil` for an entry without a title.
    static func of(_ entry: Entry) -> EntryKey? {
        guard let title = entry.title, !title.isEmpty else { return nil }
        let date = entry.date.map { "\0\($0.timeIntervalSince1970.rounded())" } ?? ""
        return EntryKey(hashing: Array("title\0\(title)\(date)".utf8))
    }
}
