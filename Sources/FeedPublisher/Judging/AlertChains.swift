internal import Feeds
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
    private let state: SeenState
    /// The alerts to consider, in the order in which they were sent.
    private let positions: [Int]
    /// Known entries of this feed that now contain another message under the same identity.
    private let edited: Set<Int>
    private let silences: [Int: SilenceReason]

    /// The alerts of this document by the keys that refer to them.
    private var alerts: [EntryKey: Int] = [:]
    /// The alert that replaced each alert.
    private var successors: [Int: Int] = [:]
    /// The current alert of each known story, by the story's name.
    private var claims: [String: Int] = [:]
    private var stories: [Int: [KnownStory]] = [:]
    private var wanted: Set<Int> = []

    init(_ judge: NewsJudge, _ silences: [Int: SilenceReason], _ state: SeenState) {
        self.judge = judge
        self.state = state
        self.silences = silences
        let all = judge.identities.indices.filter { judge.alert(at: $0) != nil }
        let edited = all.filter { position in
            silences[position] == .seenBefore(.entry) && state.edited.contains(judge.identities[position].key)
                && judge.replacesOthers(position)
        }
        self.edited = Set(edited)
        positions = (all.filter { silences[$0] == nil } + edited).filter { position in
            guard let alert = judge.alert(at: position), alert.isForThePublic else { return false }
            guard let story = judge.alertKey(of: position).flatMap({ state.stories[$0] }) else { return true }
            // A known alert came through another feed, or a later alert names it. But an index may turn its own alert
            // into its cancellation.
            return edited.contains(position) && judge.kind(position) == .cancel && !story.isWithdrawn
                && story.feed == judge.record.id
        }.sorted { judge.wasSentBefore($0, $1) }
    }

    func settle(_ effects: inout Effects) {
        var chains = self
        for position in positions {
            if judge.kind(position) == .acknowledgement {
                effects.silences[position] = .acknowledgement
            } else {
                chains.take(position)
            }
        }
        chains.finish(&effects)
    }

    private mutating func take(_ position: Int) {
        if judge.unwanted(position) == nil { wanted.insert(position) }
        if judge.replacesOthers(position) {
            let references = judge.references(of: position)
            if edited.contains(position), let story = judge.ownStory(position, state) { claim(story, for: position) }
            for key in references {
                if let other = alerts[key] { supersede(last(other), by: position, references) }
            }
            for key in references {
                guard let story = state.stories[key], !story.isWithdrawn,
                    judge.isSenderKnown(position) || story.feed == judge.record.id,
                    isAbout(story, position, references)
                else { continue }
                claim(story, for: position, references)
            }
        }
        if let key = judge.alertKey(of: position) { alerts[key] = position }
    }

    /// True if a message refers to the current alert of a story, or was sent after it.
    ///
    /// A message that was sent beside an update, or before it but arrived late, is not about the current state.
    private func isAbout(_ story: KnownStory, _ position: Int, _ references: Set<EntryKey>) -> Bool {
        guard let last = story.alert else { return true }
        return references.contains(last.key) || last.sent < judge.sent(position)
    }

    private mutating func claim(_ story: KnownStory, for position: Int, _ references: Set<EntryKey> = []) {
        if let other = claims[story.name] {
            supersede(last(other), by: position, references)
        } else {
            claims[story.name] = position
            stories[position, default: []].append(story)
        }
    }

    /// Replaces a message by one that refers to it, or by a later `Cancel` of its story.
    ///
    /// Two updates of one alert that do not refer to each other both remain: senders split an alert by areas this way.
    private mutating func supersede(_ other: Int, by position: Int, _ references: Set<EntryKey>) {
        guard other != position else { return }
        let isNamed = judge.alertKey(of: other).map(references.contains) ?? false
        let isOver = judge.kind(position) == .cancel && judge.sent(other) < judge.sent(position)
        guard isNamed || isOver else { return }
        successors[other] = position
        stories[position, default: []] += stories.removeValue(forKey: other) ?? []
        if wanted.contains(other) { wanted.insert(position) }
    }

    /// Returns the last alert of a chain, and shortens the path to it, so that long chains cost no more than short
    /// ones.
    private mutating func last(_ position: Int) -> Int {
        var end = position
        while let next = successors[end] { end = next }
        var step = position
        while let next = successors[step] {
            successors[step] = end
            step = next
        }
        return end
    }

    private mutating func finish(_ effects: inout Effects) {
        for position in positions where judge.kind(position) != .acknowledgement {
            if successors[position] != nil {
                if silences[position] == nil { effects.silences[position] = .superseded }
                continue
            }
            // Messages that the hub refused were never shown, and need not be replaced.
            let known = (stories[position] ?? []).filter { $0.showing != .never || $0.unsent != nil }
            switch judge.kind(position) {
            case .alert, .acknowledgement: break
            case .cancel:
                effects.withdraw(position, named(judge.change(.withdrawn, position, of: known), position))
            case .update:
                if judge.alert(at: position)?.expires.map({ $0 <= judge.now }) ?? false {
                    // The update has expired, and so have the messages that it replaces.
                    if known.isEmpty {
                        effects.silences[position] = .expired
                    } else {
                        effects.withdraw(position, named(judge.change(.withdrawn, position, of: known), position))
                    }
                } else if !known.isEmpty {
                    effects.changes[position] = named(judge.change(.update, position, of: known), position)
                } else if !edited.contains(position) {
                    effects.news[position] = named(judge.news(position), position)
                    if wanted.contains(position) { effects.wanted.insert(position) }
                }
            }
        }
    }

    /// Returns the change with the keys that the message refers to, so that an alert that arrives late through another
    /// feed is recognized.
    private mutating func named(_ change: StoryChange, _ position: Int) -> StoryChange {
        guard judge.isSenderKnown(position) else { return change }
        var change = change
        for key in judge.references(of: position) {
            if let other = alerts[key], last(other) != position { continue }
            if let story = state.stories[key], !story.isWithdrawn, !change.merges.contains(story.name) { continue }
            change.keys.append(key)
        }
        return change
    }
}
