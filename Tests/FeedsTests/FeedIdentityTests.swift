import FoundationEssentials
import Testing

@testable import Feeds

struct FeedIdentityTests {
    private func entry(
        id: String? = nil,
        title: String? = nil,
        link: String? = nil,
        summary: String? = nil,
        updated: Double? = nil,
        published: Double? = nil
    ) -> Entry {
        var entry = Entry()
        entry.id = id
        entry.title = title
        entry.link = link
        entry.summary = summary
        entry.updated = updated.map { Date(timeIntervalSince1970: $0) }
        entry.published = published.map { Date(timeIntervalSince1970: $0) }
        return entry
    }

    private func feed(_ entries: [Entry]) -> Feed {
        var feed = Feed(format: FeedFormat(.rss, version: "2.0"))
        feed.link = "https://news.example/"
        feed.entries = entries
        return feed
    }

    @Test func `a stored key is read back`() throws {
        let key = EntryKey("id", "https://news.example/1")
        #expect(EntryKey(bytes: key.bytes) == key)
        #expect(key.bytes.count == EntryKey.byteCount)
        #expect(EntryKey(bytes: [1, 2]) == nil)
        #expect(EntryKey("ab", "c") != EntryKey("a", "bc"))
    }

    /// Keys are stored: a change of this value makes every feed look new.
    @Test func `a key never changes`() {
        #expect(EntryKey("id", "a").description == "b282a83ebf87ec4581922afb93d92a32")
    }

    @Test func `an edit of anything but the id keeps the key`() {
        let before = feed([entry(id: "1", title: "a", link: "https://news.example/1", summary: "x", published: 1e9)])
        let after = feed([entry(id: "1", title: "b", link: "https://news.example/2", summary: "y", published: 2e9)])
        #expect(before.keys().map(\.key) == after.keys().map(\.key))
    }

    @Test func `without ids the link counts, then title and date, then title and text`() {
        let linked = feed([entry(title: "a", link: "https://news.example/1?utm_source=x")]).keys()
        #expect(linked.map(\.key) == feed([entry(title: "b", link: "http://www.news.example/1")]).keys().map(\.key))
        let dated = feed([entry(title: "a", summary: "x", published: 1e9)]).keys()
        #expect(dated.map(\.key) == feed([entry(title: "a", summary: "y", published: 1e9)]).keys().map(\.key))
        #expect(dated.map(\.key) != feed([entry(title: "a", summary: "x", published: 2e9)]).keys().map(\.key))
        let bare = feed([entry(title: "a", summary: "x")]).keys()
        #expect(bare.map(\.key) != feed([entry(title: "a", summary: "y")]).keys().map(\.key))
    }

    @Test func `an id that only changed its scheme or www has the same loose key`() {
        let old = feed([entry(id: "http://www.news.example/1")]).keys()
        let new = feed([entry(id: "https://news.example/1/")]).keys()
        #expect(old.map(\.key) != new.map(\.key))
        #expect(old.map(\.loose) == new.map(\.loose))
    }

    @Test func `a feed whose items share a guid keeps every entry`() {
        let entries = (1...5).map {
            entry(id: "https://news.example/", title: "\($0)", link: "https://news.example/\($0)")
        }
        let (rule, keys) = feed(entries).identity(startingAt: .id)
        #expect(rule == .link)
        #expect(Set(keys.map(\.key)).count == 5)
        let two = feed(Array(entries.prefix(2))).keys()
        #expect(two.count == 2)
    }

    @Test func `the rule once chosen holds for a shorter document`() {
        let entries = (1...5).map { entry(id: "same", title: "\($0)", link: "https://news.example/\($0)") }
        let (rule, all) = feed(entries).identity(startingAt: .id)
        let one = feed([entries[2]]).identity(startingAt: rule).entries
        #expect(one.map(\.key) == [all[2].key])
    }

    @Test func `a feed whose items share guid and link falls to title and date`() {
        let entries = (1...5).map {
            entry(id: "same", title: "\($0)", link: "https://news.example/all", published: Double($0) * 1e8)
        }
        let (rule, keys) = feed(entries).identity(startingAt: .id)
        #expect(rule == .titleAndDate)
        #expect(Set(keys.map(\.key)).count == 5)
        #expect(keys.allSatisfy { $0.link == nil })
    }

    @Test func `of repeats the newest counts, else the first`() {
        let repeated = feed([entry(id: "1", updated: 1e9), entry(id: "1", updated: 2e9), entry(id: "2")])
        #expect(repeated.keys().map(\.index) == [1, 2])
        let undated = feed([entry(id: "1", title: "a"), entry(id: "1", title: "b"), entry(id: "2")])
        #expect(undated.keys().map(\.index) == [0, 2])
    }

    @Test func `the feed's own page and shared links make no link key`() {
        let home = feed([entry(id: "1", link: "https://news.example"), entry(id: "2", link: "https://news.example/2")])
        #expect(home.keys().map { $0.link == nil } == [true, false])
        let shared = feed([entry(id: "1", link: "https://x.example/a"), entry(id: "2", link: "https://x.example/a")])
        #expect(shared.keys().allSatisfy { $0.link == nil })
    }

    @Test func `the same story in two feeds has one link key`() {
        let one = feed([entry(id: "1", link: "https://x.example/a?utm_campaign=one")]).keys()
        let two = feed([entry(id: "tag:2", link: "http://www.x.example/a")]).keys()
        #expect(one[0].link == two[0].link && one[0].link != nil)
    }

    @Test func `an entry without anything has no key`() {
        #expect(feed([entry(), entry(title: "a")]).keys().map(\.index) == [1])
    }
}
