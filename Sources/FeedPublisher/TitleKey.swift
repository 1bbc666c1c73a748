internal import Crypto
internal import Feeds
internal import FoundationEssentials

/// A hash of what a reader would know an entry by: its title and its date.
enum TitleKey {
    /// `nil` for an entry without a title.
    static func of(_ entry: Entry) -> EntryKey? {
        guard let title = entry.title, !title.isEmpty else { return nil }
        var hash = SHA256()
        hash.update(data: Array("title\0".utf8))
        hash.update(data: Array(title.utf8))
        if let date = entry.date {
            hash.update(data: Array("\0\(date.timeIntervalSince1970.rounded())".utf8))
        }
        return EntryKey(bytes: Array(hash.finalize()).prefix(EntryKey.byteCount))
    }
}
