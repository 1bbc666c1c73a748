internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Follows the references of a document's alerts, to announced stories and to each other.
///
/// Only the last message of a chain within the document counts. Messages are read in the order in which they were sent,
/// so chains cannot be circular.
///
/// Source: OASIS CAP-v1.2 §3.2.1 (`msgType`, `references`).
struct AlertChains {
    /// Maximum number of references followed per message: senders name all earlier messages.
    static let maximumReferences = 50

    private let judge: NewsJudge
    private let known: Knowledge
    /// The alerts to consider, in the order in which they were sent; known entries of this feed among them now contain
    /// another message under the same identity.
    private let messages: [Candidate]

    /// The alerts of this document by the keys that refer to them.
    private var alerts: [EntryKey: Candidate] = [:]
    /// The alert that replaced each alert, by the place of the replaced one.
    private var successors: [Int: Candidate] = [:]
    /// The current alert of each known story, by the story's name.
    private var claims: [String: Candidate] = [:]
    private var stories: [Int: [KnownStory]] = [:]
    private var wanted: Set<Int> = []

    init(_ judge: NewsJudge, _ candidates: [Candidate], _ known: Knowledge) {
        self.judge = judge
        self.known = known
        messages = candidates.filter { candidate in
            guard let alert = candidate.alert, alert.isForThePublic else { return false }
            let isEdited = candidate.novelty == .edited
            guard isEdited ? candidate.replacesOthers : known.document.recognized[candidate.place] == nil else {
                return false
            }
            guard let story = candidate.keys.alert.flatMap({ known.seen.stories[$0] }) else { return true }
            // A known alert came through another feed, or a later alert names it. But an index may turn its own alert
            // into its cancellation.
            return isEdited && candidate.kind == .cancel && !story.isWithdrawn && story.feed == known.record.id
        }.sorted { $0.wasSent(before: $1, now: known.now) }
    }

    func settle(_ effects: inout Effects) {
        var chains = self
        for message in messages {
            if message.kind == .acknowledgement {
                effects.skipped[message.place] = .acknowledgement
            } else {
                chains.take(message)
            }
        }
        chains.finish(&effects)
    }

    private mutating func take(_ message: Candidate) {
        if known.skipReason(for: message) == nil { wanted.insert(message.place) }
        if message.replacesOthers {
            let references = message.keys.references
            if message.novelty == .edited, let story = known.ownStory(message) { claim(story, for: message) }
            for key in references {
                if let other = alerts[key] { supersede(last(other), by: message, references) }
            }
            for key in references {
                guard let story = known.seen.stories[key], !story.isWithdrawn,
                    message.isSenderKnown || story.feed == known.record.id,
                    isAbout(story, message, references)
                else { continue }
                claim(story, for: message, references)
            }
        }
        if let key = message.keys.alert { alerts[key] = message }
    }

    /// True if a message refers to the current alert of a story, or was sent after it.
    ///
    /// A message that was sent beside an update, or before it but arrived late, is not about the current state.
    private func isAbout(_ story: KnownStory, _ message: Candidate, _ references: Set<EntryKey>) -> Bool {
        guard let last = story.alert else { return true }
        return references.contains(last.key) || last.sent < sent(message)
    }

    private func sent(_ message: Candidate) -> Date { message.alert?.sent ?? known.now }

    private mutating func claim(_ story: KnownStory, for message: Candidate, _ references: Set<EntryKey> = []) {
        if let other = claims[story.name] {
            supersede(last(other), by: message, references)
        } else {
            claims[story.name] = message
            stories[message.place, default: []].append(story)
        }
    }

    /// Replaces a message by one that refers to it, or by a later `Cancel` of its story.
    ///
    /// Two updates of one alert that do not refer to each other both remain: senders split an alert by areas this way.
    private mutating func supersede(_ other: Candidate, by message: Candidate, _ references: Set<EntryKey>) {
        guard other.place != message.place else { return }
        let isNamed = other.keys.alert.map(references.contains) ?? false
        let isCancelled = message.kind == .cancel && sent(other) < sent(message)
        guard isNamed || isCancelled else { return }
        successors[other.place] = message
        stories[message.place, default: []] += stories.removeValue(forKey: other.place) ?? []
        if wanted.contains(other.place) { wanted.insert(message.place) }
    }

    /// Returns the last alert of a chain, and shortens the path to it, so that long chains cost no more than short
    /// ones.
    private mutating func last(_ message: Candidate) -> Candidate {
        var end = message
        while let next = successors[end.place] { end = next }
        var step = message
        while let next = successors[step.place] {
            successors[step.place] = end
            step = next
        }
        return end
    }

    private mutating func finish(_ effects: inout Effects) {
        for message in messages where message.kind != .acknowledgement {
            if successors[message.place] != nil {
                if message.isUnknown { effects.skipped[message.place] = .superseded }
                continue
            }
            // Messages that the hub refused were never shown, and need not be replaced.
            let shown = (stories[message.place] ?? []).filter { $0.showing != .never || $0.unsent != nil }
            switch message.kind {
            case .alert, .acknowledgement: break
            case .cancel: effects.withdraw(message, named(judge.change(.withdrawn, message, of: shown), message))
            case .update:
                if message.alert?.expires.map({ $0 <= known.now }) ?? false {
                    // The update has expired, and so have the messages that it replaces.
                    if shown.isEmpty {
                        effects.skipped[message.place] = .expired
                    } else {
                        effects.withdraw(message, named(judge.change(.withdrawn, message, of: shown), message))
                    }
                } else if !shown.isEmpty {
                    effects.changes[message.place] = named(judge.change(.update, message, of: shown), message)
                } else if message.isUnknown {
                    effects.news[message.place] = named(judge.news(message), message)
                    if wanted.contains(message.place) { effects.wanted.insert(message.place) }
                }
            }
        }
    }

    /// Returns the change with the keys that the message refers to, so that an alert that arrives late through another
    /// feed is recognized.
    private mutating func named(_ change: StoryChange, _ message: Candidate) -> StoryChange {
        guard message.isSenderKnown else { return change }
        var change = change
        for key in message.keys.references {
            if let other = alerts[key], last(other).place != message.place { continue }
            if let story = known.seen.stories[key], !story.isWithdrawn, !change.merges.contains(story.name) { continue }
            change.keys.append(key)
        }
        return change
    }
}
