internal import FeedLists
internal import Feeds

/// The part that nearly equal titles have in common.
///
/// Two feeds tell of one story under one title in their own spelling: another case, other quotation marks and articles,
/// a name in another transcription, a plural, the publisher's name at the end. All that is taken away here, and what is
/// left must be equal: word order, numbers and every word that carries meaning count, as a story that is wrongly taken
/// for another would be lost. Being a key, it is looked up and not compared with all others.
enum StoryTitle {
    /// Fewer words could be any day's title.
    private static let fewestWords = 4
    /// Letters of a title in a script without spaces.
    private static let fewestRunOnLetters = 10
    /// Words that a publisher's name behind the title may have.
    private static let longestPublisher = 4
    /// Letters from which a word's vowels tell more of its spelling than of its meaning.
    private static let longWord = 6

    /// Words before the story itself.
    private static let labels: Set<String> = [
        "breaking", "live", "update", "updated", "urgent", "exclusive", "video", "watch", "eilmeldung", "liveticker",
        "ticker", "alerte", "direct", "ultima", "hora",
    ]
    /// Articles, and words that come and go with them; none that could turn a sentence round.
    private static let fillers: Set<String> = [
        "the", "a", "an", "of", "in", "on", "at", "and", "s", "t", "l", "d", "der", "die", "das", "den", "dem", "des",
        "ein",
        "eine", "einer", "und", "im", "am", "le", "la", "les", "un", "une", "du", "de", "et", "el", "los", "las", "una",
        "y",
        "del", "il", "lo", "gli", "i", "di", "e", "o", "os", "as", "um", "uma", "do", "da",
    ]

    /// `nil` when the title says too little to know a story by.
    static func key(_ title: String) -> EntryKey? { key(title, without: EditorialMarks()) }

    /// The same of a title that a list's marks are taken off.
    static func key(_ title: String, without marks: EditorialMarks) -> EntryKey? {
        let words = significant(title, without: marks)
        let letters = words.reduce(0) { $0 + $1.unicodeScalars.count { FoldedWords.runsOn($0) } }
        guard words.count >= fewestWords || letters >= fewestRunOnLetters else { return nil }
        return EntryKey(hashing: (["story title"] + words).flatMap { Array($0.utf8) + [0] })
    }

    private static func significant(_ title: String, without marks: EditorialMarks) -> [String] {
        var words = marks.unmarked(FoldedWords.of(withoutPublisher(title)))[...]
        while let first = words.first, labels.contains(first) { words.removeFirst() }
        return words.filter { !fillers.contains($0) }.map(skeleton)
    }

    /// Without ` - The Example` or ` | The Example` at its end.
    static func withoutPublisher(_ title: String) -> Substring {
        for separator in [" - ", " – ", " — ", " | "] {
            guard let range = title.ranges(of: separator).last else { continue }
            let name = FoldedWords.of(title[range.upperBound...])
            let isName = name.count <= longestPublisher && !name.contains { $0.utf8.contains { 0x30...0x39 ~= $0 } }
            let rest = title[..<range.lowerBound]
            if isName, FoldedWords.of(rest).count >= fewestWords { return rest }
        }
        return title[...]
    }

    /// A long Latin word by its first letter and its consonants, without a plural's ending: `Zelenskyy` as `Zelensky`.
    private static func skeleton(_ word: String) -> String {
        guard word.utf8.allSatisfy({ 0x61...0x7A ~= $0 }) else { return word }
        let singular = word.utf8.count > 4 && word.hasSuffix("s") && !word.hasSuffix("ss") ? word.dropLast() : word[...]
        guard singular.utf8.count >= longWord else { return String(singular) }
        var kept: [UInt8] = []
        for (position, letter) in singular.utf8.enumerated() {
            if position > 0, "aeiouy".utf8.contains(letter) || letter == kept.last { continue }
            kept.append(letter)
        }
        return kept.count < 3 ? String(singular) : String(decoding: kept, as: UTF8.self)
    }
}
