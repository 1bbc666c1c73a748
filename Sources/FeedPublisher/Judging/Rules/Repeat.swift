internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Recognizes a story that the same feed announced less than twelve hours ago under another identifier and link, with
/// nearly the same title and the same text.
///
/// Reports that share a title but not the text are not repeats.
struct Repeat: EntryRule {
    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        guard Self.tells(candidate), let story = known.titledHere(candidate),
            story.text.map({ $0 == candidate.keys.text }) ?? candidate.hasContent(story.content),
            isNear(candidate, story, known)
        else { return nil }
        return .repeats(story, story.isWithdrawn ? .withdrawn : .repeat)
    }

    /// True if title and text say enough to identify a report.
    private static func tells(_ candidate: Candidate) -> Bool {
        candidate.keys.acrossFeeds != nil || candidate.entry.summary != nil
    }

    private func isNear(_ candidate: Candidate, _ story: KnownStory, _ known: Knowledge) -> Bool {
        let time = known.dates.shown(candidate.entry.date)
        let pairs = [(known.now, story.announced), (time, story.published)] as [(Date?, Date?)]
        return pairs.allSatisfy { one, other in
            guard let one, let other else { return true }
            return abs(one.timeIntervalSince(other)) <= SameStory.window.inSeconds
        }
    }

    /// Returns the verdicts with later entries of one document silenced that repeat an earlier one.
    static func within(_ verdicts: [Verdict], _ dates: CredibleDates) -> [Verdict] {
        struct Report: Hashable {
            let title: EntryKey
            let text: EntryKey?
        }
        var verdicts = verdicts
        var announced: [Report: Date] = [:]
        let order = dates.inOrder(verdicts.filter(\.isNews).map(\.candidate)).map(\.place)
        let indices = Dictionary(verdicts.indices.map { (verdicts[$0].candidate.place, $0) }) { first, _ in first }
        for index in order.compactMap({ indices[$0] }) {
            let candidate = verdicts[index].candidate
            guard tells(candidate), let title = candidate.keys.storyTitle else { continue }
            let report = Report(title: title, text: candidate.keys.text)
            let date = dates.shown(candidate.entry.date) ?? dates.now
            if let earlier = announced[report], date.timeIntervalSince(earlier) <= SameStory.window.inSeconds {
                verdicts[index].decision = .silent(.repeat)
            } else {
                announced[report] = date
            }
        }
        return verdicts
    }
}
