package import HubProtocol

/// A language as pages show it: its own name (such as `Deutsch`), with its language tag.
///
/// Feed lists can use any name for a language, and the tutorial uses English ones. An unknown name is shown unchanged.
///
/// Source: RFC 5646 (language tags); Unicode CLDR 44 (each language's own name).
package struct LanguageLabel: Sendable, Equatable {
    /// English name, tag and own name of each known language.
    private static let known = [
        ("Arabic", "ar", "العربية"), ("Bengali", "bn", "বাংলা"), ("Bulgarian", "bg", "български"),
        ("Catalan", "ca", "català"), ("Chinese", "zh", "中文"), ("Croatian", "hr", "hrvatski"),
        ("Czech", "cs", "čeština"), ("Danish", "da", "dansk"), ("Dutch", "nl", "Nederlands"),
        ("English", "en", "English"), ("Estonian", "et", "eesti"), ("Finnish", "fi", "suomi"),
        ("French", "fr", "français"), ("German", "de", "Deutsch"), ("Greek", "el", "Ελληνικά"),
        ("Hebrew", "he", "עברית"), ("Hindi", "hi", "हिन्दी"), ("Hungarian", "hu", "magyar"),
        ("Icelandic", "is", "íslenska"), ("Indonesian", "id", "Indonesia"), ("Irish", "ga", "Gaeilge"),
        ("Italian", "it", "italiano"), ("Japanese", "ja", "日本語"), ("Korean", "ko", "한국어"),
        ("Latvian", "lv", "latviešu"), ("Lithuanian", "lt", "lietuvių"), ("Malay", "ms", "Melayu"),
        ("Mandarin", "zh", "中文"), ("Norwegian", "no", "norsk"), ("Persian", "fa", "فارسی"),
        ("Polish", "pl", "polski"), ("Portuguese", "pt", "português"), ("Romanian", "ro", "română"),
        ("Russian", "ru", "русский"), ("Serbian", "sr", "српски"), ("Slovak", "sk", "slovenčina"),
        ("Slovenian", "sl", "slovenščina"), ("Spanish", "es", "español"), ("Swahili", "sw", "Kiswahili"),
        ("Swedish", "sv", "svenska"), ("Tamil", "ta", "தமிழ்"), ("Thai", "th", "ไทย"), ("Turkish", "tr", "Türkçe"),
        ("Ukrainian", "uk", "українська"), ("Urdu", "ur", "اردو"), ("Vietnamese", "vi", "Tiếng Việt"),
        ("Welsh", "cy", "Cymraeg"),
    ]
    private static let labels: [LanguageName: LanguageLabel] = {
        var labels: [LanguageName: LanguageLabel] = [:]
        for (english, code, own) in known {
            for name in [english, code, own] {
                guard let language = try? LanguageName(name), labels[language] == nil else { continue }
                labels[language] = LanguageLabel(name: own, code: code)
            }
        }
        return labels
    }()

    package let name: String
    /// The language tag for the attribute `lang`; `nil` if it is not known.
    package let code: String?
}

extension LanguageLabel {
    package init(_ language: LanguageName) {
        self = Self.labels[language] ?? LanguageLabel(name: language.text, code: nil)
    }
}
