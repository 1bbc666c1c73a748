internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Recognizes a story that another feed of the category announced.
///
/// An alert is known by its identifier at any time. Otherwise the same link is the same story within ``pageWindow``, if
/// title, content or date are also the same; within ``window``, a page of another site needs no further evidence, as in
/// lists of links. Nearly the same title is the same story within ``window``.
struct SameStory: EntryRule {
    /// Time within which nearly equal titles of two feeds are one story; shorter than the period of a daily column.
    static let window: Duration = .seconds(12 * 3_600)
    /// Time within which a link to the same page in another feed is the same story.
    static let pageWindow: Duration = .seconds(7 * 86_400)

    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        if let story = candidate.keys.alert.flatMap({ known.seen.stories[$0] }) { return repeated(story, .link) }
        if let story = candidate.keys.storyLink.flatMap({ known.seen.stories[$0] }), story.feed != known.record.id,
            isSamePage(candidate, story, known)
        {
            return repeated(story, .link)
        }
        if let story = known.titledElsewhere(candidate), age(of: story, known) <= Self.window.inSeconds {
            return repeated(story, .title)
        }
        return nil
    }

    private func repeated(_ story: KnownStory, _ kind: SeenKind) -> Decision {
        .repeats(story, story.isWithdrawn ? .withdrawn : .sameStory(kind))
    }

    private func age(of story: KnownStory, _ known: Knowledge) -> Double {
        abs(known.now.timeIntervalSince(story.announced))
    }

    private func isSamePage(_ candidate: Candidate, _ story: KnownStory, _ known: Knowledge) -> Bool {
        let age = age(of: story, known)
        guard age <= Self.pageWindow.inSeconds else { return false }
        if known.titledElsewhere(candidate)?.name == story.name || candidate.hasContent(story.content) { return true }
        if CredibleDates.isSame(candidate.entry.date, story.published) { return true }
        // Earlier versions stored no dates.
        if story.text == nil { return true }
        return age <= Self.window.inSeconds && !known.isOnOwnSite(candidate)
    }
}
