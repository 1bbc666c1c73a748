internal import FeedLists
internal import Feeds

/// The content of a title, without differences of spelling.
///
/// Titles are near if they have the same words in the same order. Case, accents, punctuation, blanks, articles, plural,
/// simple tense, known spellings, labels and a publisher's name at the end are ignored; numbers are compared as values.
/// Every other word counts, since a story that is taken for another one is lost. A title has one key, which is looked up
/// instead of being compared with all others.
struct StoryTitle: Sendable, Equatable {
    /// Minimum number of words of meaning by which a story is recognized in another feed: "Version 2.0 released" and
    /// "Photo of the day" could be anybody's.
    static let fewestWordsAcrossFeeds = 3
    /// Number of letters that count as three words of meaning in scripts that do not separate words.
    private static let runOnLetters = 10

    /// The words that are compared, joined; numbers are between `#`.
    let text: String
    /// The number of words that say what the story is about: no articles, prepositions, numbers, days or months.
    let meaning: Int
    /// True if the title ends in an ellipsis.
    let isCut: Bool
    /// The title before its last dash or bar, if there is one; see ``shownKeys``.
    private let shorter: String?

    /// Reads a title.
    ///
    /// - Parameters:
    ///   - title: The title, as plain text.
    ///   - publishers: The names that the document's titles end with.
    ///   - marks: The words of corrections and retractions, which are removed from the title.
    init(
        _ title: String,
        by publishers: PublisherNames = PublisherNames(),
        without marks: EditorialMarks = EditorialMarks()
    ) {
        let headline = publishers.removed(from: TitleLabels.removed(from: publishers.removed(from: title[...])))
        let words = TitleWords(headline, without: marks)
        text = words.text
        meaning = words.meaning + words.runOnLetters * Self.fewestWordsAcrossFeeds / Self.runOnLetters
        isCut = ["…", "...", "[…]", "[...]"].contains { headline.hasSuffix($0) }
        shorter = PublisherNames.split(headline).flatMap { parts in
            let words = TitleWords(TitleLabels.removed(from: parts.rest), without: marks)
            return words.meaning >= Self.fewestWordsAcrossFeeds ? words.text : nil
        }
    }

    /// The key by which near titles of one feed are found; `nil` for a title without words.
    var key: EntryKey? { text.isEmpty ? nil : Self.key(text) }

    /// The key by which near titles of other feeds are found; `nil` if the title says too little.
    var keyAcrossFeeds: EntryKey? { meaning < Self.fewestWordsAcrossFeeds ? nil : key }

    /// The keys under which an announced story is found in other feeds.
    ///
    /// A story announced as "Snow closes pass - Bravo Times" includes what "Snow closes pass" says, even if nobody knows
    /// that the ending is a name. The opposite does not hold: a longer title may say more.
    var shownKeys: [EntryKey] {
        guard let keyAcrossFeeds else { return [] }
        return [keyAcrossFeeds] + [shorter.map(Self.key)].compactMap(\.self)
    }

    private static func key(_ text: String) -> EntryKey { EntryKey(hashing: Array("near title\0\(text)".utf8)) }
}
