internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// The language of a feed, among the languages of its list.
struct FeedLanguage: Sendable {
    /// `nil` for the list's main one.
    private(set) var language: LanguageName?
    /// The other languages of the list, with `nil` for its main one.
    private var others: [LanguageName?] = []
    /// The keys of ``OutboxMessage/shares`` for its recipients; the main language is also known by its name.
    private(set) var names: Set = [LanguageShare.main]
    private var match = TranslationMatch.link

    /// Makes the language of a feed in a list of one language.
    init() {}

    init(_ source: FeedSource, in localization: Localization) {
        language = source.language
        others = ([nil] + localization.others).filter { $0 != source.language }
        names = Set(
            source.language.map { [$0.text] } ?? [LanguageShare.main] + [localization.main?.text].compactMap(\.self)
        )
        match = localization.match
    }

    /// The name of the language, as in ``OutboxMessage/shares``.
    var name: String { language?.text ?? LanguageShare.main }

    var isOneOfSeveral: Bool { !others.isEmpty }

    /// Returns a story's key among those announced in this language.
    ///
    /// Keys of the main language are as in a list of one language, so that a list can get a second one at any time.
    func own(_ key: EntryKey) -> EntryKey { Self.key(key, in: language) }

    /// Returns a story's keys among those announced in each of the other languages, the main one first.
    func elsewhere(_ key: EntryKey) -> [EntryKey] { others.map { Self.key(key, in: $0) } }

    /// Returns the keys by which each entry is found in other languages, parallel to `identities`.
    ///
    /// A key of several entries of the document identifies none of them, and is left out.
    func translationKeys(of identities: [EntryIdentity], in feed: Feed, by rule: IdentityRule) -> [[EntryKey]] {
        guard !others.isEmpty else { return [] }
        let keys = identities.map { identity -> Set<EntryKey> in
            let entry = feed.entries[identity.index]
            // An alert has its own reference, and all alerts of a service link to the same page.
            if let reference = entry.alert?.reference { return [EntryKey(alert: reference)] }
            switch match {
            case .id:
                // An identifier that every entry has does not identify one (`IdentityRule`).
                guard rule == .id, let id = entry.id else { return [] }
                return [EntryKey(translatedID: id)]
            case .link:
                let own = identity.link == nil ? nil : entry.link
                return Set(([own].compactMap(\.self) + entry.translations).compactMap { EntryKey(translatedLink: $0) })
            }
        }
        let counts = keys.joined().reduce(into: [:]) { $0[$1, default: 0] += 1 }
        return keys.map { $0.filter { counts[$0] == 1 }.sorted { $0.description < $1.description } }
    }

    private static func key(_ key: EntryKey, in language: LanguageName?) -> EntryKey {
        language.map { EntryKey(key, in: $0.text) } ?? key
    }
}

/// An entry that is added to an unsent message of another language.
struct Translation: Sendable {
    let announcement: Announcement
    let story: KnownStory
}

extension NewsJudge {
    /// Finds entries that can be added to a waiting message of another language; other stories that are known from
    /// another language keep their names.
    ///
    /// A message includes one entry of each language; a second one gets a message of its own. A message that corrects
    /// or withdraws includes none, and none includes an entry with another sending time.
    func takeTranslations(_ verdicts: inout [Verdict], _ known: Knowledge) -> [Translation] {
        guard feedLanguage.isOneOfSeveral else { return [] }
        var taken: Set<String> = []
        var translations: [Translation] = []
        for index in verdicts.indices where verdicts[index].isNews {
            let candidate = verdicts[index].candidate
            let announced = candidate.keys.elsewhere.compactMap { known.seen.stories[$0] }
            // A withdrawal in the main language applies to all languages.
            guard !announced.contains(where: { $0.language == LanguageShare.main && $0.isWithdrawn }) else {
                verdicts[index].decision = .silent(.withdrawn)
                continue
            }
            let unannounced = announced.filter { story in
                !story.isWithdrawn && !taken.contains(story.name)
                    && !story.others.contains { $0.language == feedLanguage.name }
            }
            var change = known.document.effects.news[candidate.place] ?? news(candidate)
            let hour = release(candidate, change)
            let waiting = unannounced.first { takesTranslation($0, leavingAt: hour) }
            guard let story = waiting ?? unannounced.first else { continue }
            taken.insert(story.name)
            change.name = story.name
            verdicts[index].change = change
            if waiting != nil {
                verdicts[index].decision = .silent(.translation)
                translations.append(Translation(announcement: announcement(of: candidate, change), story: story))
            }
        }
        return translations
    }

    private func takesTranslation(_ story: KnownStory, leavingAt hour: Date?) -> Bool {
        guard story.row != nil, let message = story.unsent, message.status == nil, message.replaces.isEmpty,
            !message.speaks(feedLanguage.language)
        else { return false }
        return message.notBefore.flatMap { $0 > now ? $0 : nil } == hour
    }
}
