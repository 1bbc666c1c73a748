internal import FeedLists
internal import Feeds

/// The keys of titles that versions up to 1.x stored; a store's old rows are compared by them until their window ends.
///
/// Two feeds announce one story under one title in different spellings: case, quotation marks, articles, transcriptions
/// of names, plurals, the publisher's name at the end. These differences are removed, and the rest must be equal: word
/// order, numbers and every word with a meaning count, since a story that is mistaken for another would be lost. The
/// result is a key, which is looked up instead of being compared with all others.
enum FormerStoryTitle {
    /// Minimum number of words: fewer could be the title of any day.
    private static let fewestWords = 4
    /// Minimum number of letters of a title in a script without spaces.
    private static let fewestRunOnLetters = 10
    /// Maximum number of words of a publisher's name after the title.
    private static let longestPublisher = 4
    /// Number of letters from which a word is recognized without its vowels, which differ between spellings.
    private static let longWord = 6

    /// Words that precede the story.
    private static let labels: Set<String> = [
        "breaking", "live", "update", "updated", "urgent", "exclusive", "video", "watch", "eilmeldung", "liveticker",
        "ticker", "alerte", "direct", "ultima", "hora",
    ]
    /// Articles and other optional words; none of them can reverse the meaning of a sentence.
    private static let fillers: Set<String> = [
        "the", "a", "an", "of", "in", "on", "at", "and", "s", "t", "l", "d", "der", "die", "das", "den", "dem", "des",
        "ein", "eine", "einer", "und", "im", "am", "le", "la", "les", "un", "une", "du", "de", "et", "el", "los", "las",
        "una", "y", "del", "il", "lo", "gli", "i", "di", "e", "o", "os", "as", "um", "uma", "do", "da",
    ]

    /// Returns the key of a title; `nil` if the title says too little to identify a story.
    static func key(_ title: String) -> EntryKey? { key(title, without: EditorialMarks()) }

    /// Returns the key of a title without a list's marks.
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

    /// Returns the title without ` - The Example` or ` | The Example` at its end.
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

    /// Returns the first letter and the consonants of a long Latin word, without a plural's ending: `Zelenskyy` equals
    /// `Zelensky`.
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
