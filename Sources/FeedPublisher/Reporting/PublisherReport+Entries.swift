internal import FoundationEssentials
internal import HubProtocol

extension PublisherReport {
    /// Maximum number of bytes of a report that entries may use.
    private static let maximumEntryBytes = maximumBytes / 2
    /// Bytes of an entry besides its texts: names of members, times, ids.
    private static let entryOverhead = 200

    /// Adds the newest entries of each feed, as far as there is room.
    ///
    /// The newest entry of each feed comes first, then the second one of each feed, so that many feeds share the room.
    /// `entries` are those of each feed by its position, newest first.
    mutating func add(_ entries: [Int: [JudgedEntry]], from store: PublisherStore, now: Date) throws {
        let chosen = Self.chosen(entries)
        let keys = chosen.values.joined().compactMap(\.idempotencyKey)
        let announcements = try store.announcements(keys, now: now)
        for (index, entries) in chosen {
            feeds[index].entries = entries.map { entry in
                let announcement = entry.idempotencyKey.flatMap { announcements[$0] }
                let state = announcement?.state ?? .forgotten
                var reported = Entry(
                    title: ReportText.line(entry.title),
                    state: entry.silence ?? state.name,
                    reason: ReportText.line(entry.reason ?? state.text)
                )
                reported.date = entry.date.flatMap { ReportText.time($0) }
                reported.judgedAt = ISODateTime.formatSeconds(entry.judgedAt)
                reported.message = announcement?.message
                return reported
            }
        }
    }

    private static func chosen(_ entries: [Int: [JudgedEntry]]) -> [Int: [JudgedEntry]] {
        var room = maximumEntryBytes
        var chosen: [Int: [JudgedEntry]] = [:]
        let feeds = entries.keys.sorted()
        for rank in 0..<maximumEntries {
            for feed in feeds where entries[feed, default: []].count > rank {
                let entry = entries[feed, default: []][rank]
                // Quotes and slashes take two bytes in JSON.
                room -= (entry.title.utf8.count + (entry.reason ?? "").utf8.count) * 2 + entryOverhead
                guard room >= 0 else { return chosen }
                chosen[feed, default: []].append(entry)
            }
        }
        return chosen
    }
}

/// Texts of a report.
enum ReportText {
    /// Maximum number of bytes.
    private static let maximum = 1_000

    /// Returns one line of bounded length for any text of a server.
    static func line(_ text: String) -> String {
        let scalars = text.unicodeScalars.filter { scalar in
            scalar.properties.generalCategory != .control && !scalar.properties.isBidiControl
        }
        return TextClip.clip(String(String.UnicodeScalarView(scalars)), characters: maximum, bytes: maximum)
    }

    /// Returns a time; `nil` for a date outside the format's years.
    static func time(_ date: Date) -> String? {
        let text = ISODateTime.formatSeconds(date)
        return ISODateTime.parse(text) == nil ? nil : text
    }
}
