import Foundation
import Testing

@testable import Feeds

@Suite struct NewestEntriesTests {
    private static let start = Date(timeIntervalSince1970: 1_780_000_000)

    private func rss(_ count: Int, isOldestFirst: Bool, hasDates: Bool = true) -> String {
        let numbers = isOldestFirst ? Array(0..<count) : (0..<count).reversed()
        let items = numbers.map { number in
            let date = "<dc:date>\(Self.start.addingTimeInterval(Double(number) * 60).formatted(.iso8601))</dc:date>"
            return "<item><guid>\(number)</guid>\(hasDates ? date : "")</item>"
        }
        return
            "<rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/'><channel>\(items.joined())</channel></rss>"
    }

    private func read(_ text: String) throws -> Feed {
        try FeedReader.read(Array(text.utf8), url: "https://news.example/", contentType: nil)
    }

    @Test(arguments: [false, true])
    func `of a long document the newest entries are read, in either order`(isOldestFirst: Bool) throws {
        let feed = try read(rss(5_010, isOldestFirst: isOldestFirst))
        #expect(feed.isTruncated && feed.isComplete && feed.entries.count == FeedReader.maximumEntries)
        let ids = feed.entries.compactMap { $0.id.flatMap { Int($0) } }
        #expect(ids == (isOldestFirst ? Array(10..<5_010) : (10..<5_010).reversed()))
    }

    @Test func `a long document without dates has its newest entries first`() throws {
        let feed = try read(rss(5_001, isOldestFirst: false, hasDates: false))
        #expect(feed.entries.first?.id == "5000" && feed.entries.last?.id == "1")
    }

    @Test func `long Atom and JSON documents are read alike`() throws {
        let entries = (0..<5_002).map { number in
            let date = Self.start.addingTimeInterval(Double(number)).formatted(.iso8601)
            return (
                atom: "<entry><id>urn:\(number)</id><updated>\(date)</updated></entry>",
                json: #"{"id":"urn:\#(number)","date_published":"\#(date)"}"#
            )
        }
        let atom = "<feed xmlns='http://www.w3.org/2005/Atom'>\(entries.map { $0.atom }.joined())</feed>"
        let json =
            #"{"version":"https://jsonfeed.org/version/1.1","items":[\#(entries.map { $0.json }.joined(separator: ","))]}"#
        for feed in [try read(atom), try read(json)] {
            #expect(feed.entries.count == 5_000)
            #expect(feed.entries.first?.id == "urn:2" && feed.entries.last?.id == "urn:5001")
        }
    }

    @Test func `an entry without a date counts as old as the one before it`() {
        let dates = [5, nil, 4, nil, 3].map { $0.map { Self.start.addingTimeInterval($0) } } as [Date?]
        #expect(NewestEntries.places(dates, count: 3) == [0, 1, 2])
        #expect(NewestEntries.places(dates.reversed(), count: 3) == [2, 3, 4])
        #expect(NewestEntries.places([nil, nil, nil], count: 2) == [0, 1])
    }

    @Test func `deleted entries and drafts are read`() throws {
        let feed = try read(
            """
            <feed xmlns="http://www.w3.org/2005/Atom" xmlns:app="http://www.w3.org/2007/app"
                xmlns:at="http://purl.org/atompub/tombstones/1.0">
            <at:deleted-entry ref=" urn:1 " when="2026-05-28T20:00:00Z"/><at:deleted-entry when="2026-05-28T20:00:00Z"/>
            <entry><id>urn:2</id><app:control><app:draft>yes</app:draft></app:control></entry>
            <entry><id>urn:3</id><app:control><app:draft>no</app:draft></app:control></entry>
            <entry><id>urn:4</id></entry>
            </feed>
            """
        )
        #expect(feed.deletedIDs == ["urn:1"])
        #expect(feed.entries.map(\.isDraft) == [true, false, false])
    }
}
