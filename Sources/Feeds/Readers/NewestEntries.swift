internal import FoundationEssentials

/// Chooses the entries to read of a document that has more than ``FeedReader/maximumEntries``: the newest ones.
///
/// Most publishers put the newest entry first, some put it last, and the dates show which. Only the chosen entries are
/// kept, so a long document needs no more memory than a short one.
enum NewestEntries {
    /// Reads a document's entries, in document order.
    static func read<Element>(_ elements: [Element], _ read: (Element) -> Entry) -> [Entry] {
        guard elements.count > FeedReader.maximumEntries else { return elements.map(read) }
        let dates = elements.map { read($0).date }
        return places(dates, count: FeedReader.maximumEntries).map { read(elements[$0]) }
    }

    /// Returns the places of the newest entries, ascending.
    ///
    /// An entry without a date has that of the entry before it. Of equal dates the places at the newer end of the
    /// document count first; a document without dates has its newest entries first.
    static func places(_ dates: [Date?], count: Int) -> [Int] {
        guard let first = dates.lazy.compactMap(\.self).first, let last = dates.last(where: { $0 != nil }) ?? nil else {
            return Array(dates.indices.prefix(count))
        }
        let isOldestFirst = first < last
        var latest = first
        let dated = dates.enumerated().map { place, date in
            latest = date ?? latest
            return (place: place, date: latest)
        }
        let newest = dated.sorted { left, right in
            if left.date != right.date { return left.date > right.date }
            return isOldestFirst ? left.place > right.place : left.place < right.place
        }
        return newest.prefix(count).map { $0.place }.sorted()
    }
}
