internal import Feeds

/// Hashes of an entry's content: its title, text and files, but not its dates and counts.
///
/// A file is known by its address without the query, which may contain a signature that changes at each reading. For a
/// message about other alerts the content includes the message's identifier.
enum ContentKey {
    static func of(_ entry: Entry) -> EntryKey {
        key(of: entry, files: entry.enclosures.map { withoutQuery($0.url) })
    }

    /// Returns the identity and content of an entry.
    static func mark(_ entry: Entry, key: EntryKey) -> EntryMark {
        let files = entry.enclosures.map(\.url)
        let plain = files.map(withoutQuery)
        return EntryMark(
            key: key,
            content: Self.key(of: entry, files: plain),
            formerContent: files == plain ? nil : Self.key(of: entry, files: files)
        )
    }

    /// Returns a hash of the text only.
    static func text(of entry: Entry) -> EntryKey {
        EntryKey(hashing: Array("text\0\(entry.summary ?? "")".utf8))
    }

    private static func key(of entry: Entry, files: [String]) -> EntryKey {
        var parts = ["content", entry.title ?? "", entry.summary ?? ""] + files
        if let alert = entry.alert, alert.kind != .alert {
            parts += ["alert", alert.reference ?? "", alert.messageType ?? ""]
        }
        return EntryKey(hashing: parts.flatMap { Array($0.utf8) + [0] })
    }

    private static func withoutQuery(_ address: String) -> String {
        address.firstIndex { $0 == "?" || $0 == "#" }.map { String(address[..<$0]) } ?? address
    }
}
