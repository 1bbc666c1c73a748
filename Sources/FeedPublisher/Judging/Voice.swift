internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Which language a feed speaks, among those of its list.
struct Voice: Sendable {
    /// `nil` for the list's main one.
    let language: LanguageName?
    /// The other languages of the list, with `nil` for its main one.
    private let others: [LanguageName?]
    /// The ``OutboxMessage/shares`` of its recipients: those of the main one also by its name.
    let names: Set<String>
    private let match: TranslationMatch

    /// Makes the voice of a feed in a list of one language.
    init() {
        language = nil
        others = []
        names = [LanguageShare.main]
        match = .link
    }

    init(_ source: FeedSource, in localization: Localization) {
        language = source.language
        others = ([nil] + localization.others).filter { $0 != source.language }
        names = Set(
            source.language.map { [$0.text] } ?? [LanguageShare.main] + [localization.main?.text].compactMap(\.self)
        )
        match = localization.match
    }

    /// As ``OutboxMessage/shares`` names it.
    var name: String { language?.text ?? LanguageShare.main }

    var isOneOfSeveral: Bool { !others.isEmpty }

    /// A story's key among those told in this language.
    ///
    /// The main language's are as in a list of one language, so that a list can be given a second one at any time.
    func own(_ key: EntryKey) -> EntryKey { Self.key(key, in: language) }

    /// A story's keys among those told in each of the other languages, the main one first.
    func elsewhere(_ key: EntryKey) -> [EntryKey] { others.map { Self.key(key, in: $0) } }

    /// The keys by which each entry is found in other languages, parallel to `identities`.
    ///
    /// A key that several entries of a document have says nothing of one of them.
    func translationKeys(of identities: [EntryIdentity], in feed: Feed, by rule: IdentityRule) -> [[EntryKey]] {
        guard !others.isEmpty else { return [] }
        let keys = identities.map { identity -> Set<EntryKey> in
            let entry = feed.entries[identity.index]
            // An alert has a name of its own, and one page stands on all of a service.
            if let reference = entry.alert?.reference { return [EntryKey(alert: reference)] }
            switch match {
            case .id:
                // An identifier that stands on every entry is none (`IdentityRule`).
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

/// An entry that is told in the message of another language's, which has not left yet.
struct Translation: Sendable {
    let announcement: Announcement
    let story: KnownStory
}

extension NewsJudge {
    /// Takes out of the running what a waiting message of another language tells; what else is known from another
    /// language keeps its story's name.
    ///
    /// A message takes one entry of each language; a second is announced by itself. It takes none when it corrects or
    /// withdraws, nor one that may leave at another time.
    func takeTranslations(
        _ silences: inout [Int: SilenceReason],
        _ effects: inout Effects,
        _ state: SeenState
    ) -> [Translation] {
        guard !translationKeys.isEmpty else { return [] }
        var taken: Set<String> = []
        var translations: [Translation] = []
        for position in identities.indices where silences[position] == nil && effects.changes[position] == nil {
            let known = translatedKeys(of: position).compactMap { state.stories[$0] }
            // The main language's withdrawal counts for all.
            guard !known.contains(where: { $0.language == LanguageShare.main && $0.isWithdrawn }) else {
                silences[position] = .withdrawn
                continue
            }
            let untold = known.filter { story in
                !story.isWithdrawn && !taken.contains(story.name)
                    && !story.others.contains { $0.language == voice.name }
            }
            var change = effects.news[position] ?? news(position)
            let hour = release(position, change)
            let waiting = untold.first { takesTranslation($0, leavingAt: hour) }
            guard let story = waiting ?? untold.first else { continue }
            taken.insert(story.name)
            change.name = story.name
            effects.news[position] = change
            if waiting != nil {
                silences[position] = .translation
                translations.append(Translation(announcement: announcement(position, change), story: story))
            }
        }
        return translations
    }

    private func takesTranslation(_ story: KnownStory, leavingAt hour: Date?) -> Bool {
        guard story.row != nil, let message = story.unsent, message.status == nil, message.replaces.isEmpty,
            !message.speaks(voice.language)
        else { return false }
        return message.notBefore.flatMap { $0 > now ? $0 : nil } == hour
    }
}
