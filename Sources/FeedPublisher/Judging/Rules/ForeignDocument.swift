internal import FeedLists
internal import Feeds

/// Recognizes a document of another site, as from a wrong cache: another title, another site, and only unknown entries.
///
/// It waits for the next poll; if that brings a document of the same other site, the feed has moved.
struct ForeignDocument: DocumentRule {
    func decision(on candidates: [Candidate], _ known: Knowledge) -> DocumentDecision? {
        let (record, head) = (known.record, known.document.head)
        guard record.baseline != nil, known.seen.before > 0, known.seen.known.isEmpty, !candidates.isEmpty,
            let title = head.title, let former = record.title, FoldedWords.of(title) != FoldedWords.of(former),
            let host = head.host, let own = record.site ?? DocumentHead.host(of: record.url),
            !DocumentHead.isSameSite(host, own), record.foreignHead != head.text
        else { return nil }
        return .foreign
    }
}

/// The title and the site of a document.
struct DocumentHead: Sendable, Equatable {
    var title: String?
    /// The host of its page.
    var host: String?

    init(title: String? = nil, link: String? = nil) {
        self.title = title
        host = link.flatMap(Self.host)
    }

    /// Title and host in one line, to recognize the document at the next poll.
    var text: String { "\(host ?? "") \(title ?? "")" }

    static func host(of address: String) -> String? {
        guard let host = (try? FeedAddress(parsing: address, allowsFile: false))?.host else { return nil }
        return host.hasPrefix("www.") ? String(host.dropFirst(4)) : host
    }

    /// True if two hosts are equal, or one is a part of the other's domain.
    static func isSameSite(_ one: String, _ other: String) -> Bool {
        one == other || one.hasSuffix(".\(other)") || other.hasSuffix(".\(one)")
    }
}
