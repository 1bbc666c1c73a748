import Formats
package import HubProtocol
import Mustache

/// The reader's page: the choice of categories, and the news.
///
/// The template reads stored properties only.
package struct ReaderPage: WebPage, Equatable {
    package struct Category: MustacheParent, Sendable, Equatable {
        let name: String
        let isChosen: Bool
        /// The languages of its news, if they differ from those of other categories.
        var spoken: [LanguageLabel] = []

        package init(name: String, isChosen: Bool) {
            self.name = name
            self.isChosen = isChosen
        }

        package func child(named name: String) -> Any? {
            switch name {
            case "name": self.name
            case "isChosen": isChosen
            case "spoken": spoken
            default: nil
            }
        }
    }

    /// A language that can be chosen.
    package struct Language: Sendable, Equatable {
        let value: String
        let label: LanguageLabel
        let isChosen: Bool

        init(_ language: LanguageName, isChosen: Bool) {
            value = language.text
            label = LanguageLabel(language)
            self.isChosen = isChosen
        }
    }

    package struct FilterLink: Sendable, Equatable {
        let label: String
        let href: String
        let isCurrent: Bool

        init(_ label: String, href: String, isCurrent: Bool) {
            (self.label, self.href, self.isCurrent) = (label, href, isCurrent)
        }
    }

    package struct FeedLink: Sendable, Equatable {
        let type: String
        let title: String
        let href: String

        package init(type: String, title: String, href: String) {
            self.type = type
            self.title = title
            self.href = href
        }
    }

    package let template = "reader"
    let script: String
    let notifyScript: String
    let worker: String
    package let frame: PageFrame
    package var title: String { frame.words.text(.newsOf, ["name": frame.name]) }
    package private(set) var categories: [Category]
    let hasCategories: Bool
    package private(set) var languages: [Language] = []
    package private(set) var hasLanguages = false
    /// The language that the reader has chosen.
    package private(set) var language: Language?
    /// The choice for use in a sentence, such as `World, Sports`; `nil` before a choice.
    let choice: String?
    /// The news, newest first.
    let messages: [MessageView]
    let isEmpty: Bool
    /// The text shown if there is no news.
    let empty: String
    /// The selection of the page, as the form shows it.
    let filter: NewsFilter
    /// Links that select the news of one category.
    package private(set) var filters: [FilterLink] = []
    package private(set) var hasFilters = false
    /// The view that the script fills.
    let blank = MessageView.blank
    package var feeds: [FeedLink] = []
    /// The address of this session's stream; `nil` for a reader who has not subscribed.
    package var events: String?
    /// The position after ``messages`` at which the stream continues.
    package var position: String?
    package var gap: String?
    /// The beginning of the addresses of pictures; `nil` if pages show none.
    package var images: String?
    /// The address for the browser's push subscription; `nil` for a reader who has not subscribed.
    package var push: String?
    /// The reason why the hub does not deliver to browsers; `nil` if it does.
    package var pushObstacle: PushObstacle? = .unavailable
    /// The form to send a message; `nil` for a reader who is not signed in.
    package var send: SendForm?

    package init(
        frame: PageFrame,
        categories: [Category],
        messages: [MessageView],
        filter: NewsFilter = NewsFilter()
    ) {
        self.frame = frame
        let words = frame.words
        let scripts = PageScripts.of(words)
        (script, notifyScript, worker) = (scripts.reader.path, scripts.notify.path, WorkerFile.address(words))
        self.categories = categories
        hasCategories = !categories.isEmpty
        let chosen = categories.filter(\.isChosen).map(\.name)
        choice = chosen.isEmpty ? nil : chosen.joined(separator: ", ")
        self.messages = messages.markingDays()
        self.filter = filter
        isEmpty = messages.isEmpty
        let isOfChoice = !categories.isEmpty && !chosen.isEmpty
        empty = words[filter.isEmpty ? isOfChoice ? .noNewsOfChoice : .noNews : .noMatch]
    }

    /// Offers links to the news of each category that `news` has, those with most news first.
    package mutating func offer(filtersBy news: [StoryVersion]) {
        var counts: [String: Int] = [:]
        for name in news.lazy.flatMap(\.categories) { counts[name, default: 0] += 1 }
        if let chosen = filter.category, !counts.keys.contains(where: filter.isCategory) { counts[chosen] = 1 }
        let names = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.maximumFilters).map(\.key)
        guard names.count > 1 || !filter.isEmpty else { return }
        filters =
            [FilterLink(frame.words[.allNews], href: frame.home, isCurrent: filter.isEmpty)]
            + names.map { name in
                let href = "\(frame.home)?category=\(PercentEncoding.encode(name))"
                return FilterLink(name, href: href, isCurrent: filter.isCategory(name))
            }
        hasFilters = true
    }

    /// The largest number of categories that the page links to.
    private static let maximumFilters = 12

    /// Offers a choice of languages.
    ///
    /// - Parameters:
    ///   - spoken: The languages of each category, by its name.
    ///   - chosen: The reader's choice.
    package mutating func offer(_ spoken: [String: [LanguageName]], chosen: LanguageName?) {
        var all = Set(spoken.values.joined())
        if let chosen { all.insert(chosen) }
        let sorted = all.sorted { $0.text.lowercased() < $1.text.lowercased() }
        languages = sorted.prefix(Self.maximumLanguages).map { Language($0, isChosen: $0 == chosen) }
        // A hub with one language offers no choice.
        hasLanguages = languages.count > 1 || chosen != nil
        language = chosen.map { Language($0, isChosen: true) }
        guard languages.count > 1, Set(categories.map { Set(spoken[$0.name] ?? []) }).count > 1 else { return }
        for index in categories.indices {
            let names = (spoken[categories[index].name] ?? []).prefix(Self.maximumLanguages)
            categories[index].spoken = names.map { LanguageLabel($0) }
        }
    }

    /// The largest number of languages that a page offers: those of three feed lists.
    private static let maximumLanguages = 30
}

/// The reasons why a hub does not deliver to browsers, as states of the page's script.
package enum PushObstacle: String, Sendable {
    /// It has no contact for push services.
    case unavailable
    /// Its key or its contact cannot be used.
    case unusable
}
