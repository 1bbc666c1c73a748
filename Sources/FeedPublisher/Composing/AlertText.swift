internal import FeedLists
internal import Feeds
// Only Foundation, not FoundationEssentials, knows the names of languages on Linux.
internal import Foundation
internal import HubProtocol

/// The text of an alert in one of its languages, and of the most severe of its events (CAP 1.2 §3.2.2).
extension Alert {
    /// The severities of CAP, the highest first; anything else is `Unknown`.
    fileprivate static let severities = ["extreme", "severe", "moderate", "minor"]
    fileprivate static let urgencies = ["immediate", "expected", "future", "past"]

    /// Returns the part that is shown to readers of a language, by its code: in that language, else in English, else in
    /// the language of the first part; of several, the most severe, else the first.
    func part(for code: String?) -> Info? {
        let languages = info.map(\.code)
        let chosen = [code, "en"].compactMap(\.self).first(where: languages.contains) ?? languages.first
        return mostSevere { $0 == chosen }
    }

    /// Returns the part in a language; `nil` if there is none.
    func part(in code: String) -> Info? { mostSevere { $0 == code } }

    fileprivate static func place(of word: String?, in words: [String]) -> Int {
        word.flatMap { words.firstIndex(of: $0.lowercased()) } ?? words.count
    }

    private func mostSevere(_ isWanted: (String) -> Bool) -> Info? {
        let parts = info.enumerated().filter { isWanted($0.element.code) }
        return parts.min { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }?.element
    }
}

extension Alert.Info {
    /// The code of its language, without a region; CAP's default is English.
    fileprivate var code: String {
        let code = (language ?? "en").prefix { $0 != "-" && $0 != "_" }.lowercased()
        return Self.shortCodes[code] ?? code
    }

    /// Three-letter codes of ISO 639-2 that alerts use.
    private static let shortCodes = ["eng": "en", "fra": "fr", "fre": "fr", "deu": "de", "ger": "de", "spa": "es"]

    /// The order of the parts: calls for action, then by severity, then by urgency.
    fileprivate var rank: Int {
        let severity = Alert.place(of: severity, in: Alert.severities)
        let urgency = Alert.place(of: urgency, in: Alert.urgencies)
        return (severity == 0 || urgency == 0 ? 0 : 100) + severity * 10 + urgency
    }
}

extension Entry {
    /// Returns an alert's entry with the texts of the part for readers of a language.
    ///
    /// A title that is not one of the alert's own stays.
    func localized(in code: String?) -> Entry {
        guard let alert, alert.info.count > 1, let part = alert.part(for: code) else { return self }
        return localized(part, of: alert)
    }

    private func localized(_ part: Alert.Info, of alert: Alert) -> Entry {
        let titles = Set(alert.info.flatMap { [$0.headline, $0.event] }.compactMap(\.self))
        guard let own = title, titles.contains(own), let title = part.headline ?? part.event else { return self }
        var entry = self
        entry.title = title
        entry.summary = part.description ?? part.instruction ?? alert.note
        entry.link = part.web ?? (alert.info.contains { $0.web == link } ? nil : link)
        return entry
    }
}

/// The codes of languages that lists name.
enum LanguageCodes {
    /// Returns the ISO 639-1 code of a language's name, in English or in the language itself; `nil` for an unknown one.
    static func code(of language: LanguageName) -> String? {
        codes[FoldedWords.of(language.text.replacing("_", with: " ")).joined(separator: " ")]
    }

    private static let codes: [String: String] = {
        let english = Locale(identifier: "en")
        var codes: [String: String] = [:]
        for code in Locale.LanguageCode.isoLanguageCodes.map(\.identifier) where code.utf8.count == 2 {
            let own = Locale(identifier: code)
            for name in [
                code, english.localizedString(forLanguageCode: code), own.localizedString(forLanguageCode: code),
            ] {
                guard let name else { continue }
                codes[FoldedWords.of(name).joined(separator: " ")] = code
            }
        }
        return codes
    }()
}

extension MessageComposer {
    /// The code of the language of the texts; `nil` if it is unknown.
    var languageCode: String? { code(of: language) }

    /// Returns an alert's message that also has the alert's text in the list's other languages.
    func withTranslations(_ message: OutboxMessage, of announcement: Announcement, feedTitle: String) -> OutboxMessage {
        guard let alert = announcement.entry.alert, alert.info.count > 1 else { return message }
        let languages = ([nil] + list.localization.others).filter { $0 != language }
        let localized = announcement.entry.localized(in: languageCode).title
        return languages.reduce(message) { message, other in
            guard let code = code(of: other), code != languageCode, alert.part(in: code) != nil,
                announcement.entry.localized(in: code).title != localized
            else { return message }
            var translated = announcement
            translated.change.headline = nil
            return MessageComposer(list: list, language: other).adding(translated, feedTitle: feedTitle, to: message)
        }
    }

    private func code(of language: LanguageName?) -> String? {
        (language ?? list.localization.main).flatMap { LanguageCodes.code(of: $0) }
    }
}
