/// The decision on one entry.
enum Decision: Sendable {
    /// It is announced for the sake of a known story, regardless of all later rules.
    case announced(StoryChange)
    case silent(SkipReason)
    /// It is about a story that was announced already.
    case repeats(KnownStory, SkipReason)
}

/// The decision on a document as a whole.
enum DocumentDecision: Sendable, Equatable {
    /// It is a document of another site, and waits for the next poll.
    case foreign
    case firstReading
    /// The feed has entries for the first time.
    case lateFirstReading
    /// The feed has given all its entries new identifiers.
    case newIdentifiers
}

/// A rule for a whole document; it is applied before all rules for entries.
protocol DocumentRule: Sendable {
    /// Returns the decision; `nil` if the rule does not apply.
    func decision(on candidates: [Candidate], _ known: Knowledge) -> DocumentDecision?
}

/// A rule for one entry.
protocol EntryRule: Sendable {
    /// Returns the decision; `nil` if the rule does not apply.
    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision?
}

/// The rules, in the order in which they are applied; the first decision counts.
///
/// `docs/feed-lists.md` has one line for each.
enum NewsRules {
    static let document: [any DocumentRule] = [ForeignDocument(), FirstReading(), LateFirstReading(), NewIdentifiers()]
    /// The rules that recognize an entry as one that the feed had before, or that must wait.
    static let recognition: [any EntryRule] = [SeenBefore(), SamePage(), Held()]
    /// The rules for entries that are new in their feed.
    static let news: [any EntryRule] = [
        OfFirstReading(), OfLateFirstReading(), SameTitleAndDate(), Retitled(), WithNewIdentifier(), OldEntry(),
        Filtered(), SameStory(), Repeat(),
    ]
}

extension [any EntryRule] {
    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        for rule in self {
            if let decision = rule.decision(on: candidate, known) { return decision }
        }
        return nil
    }
}
