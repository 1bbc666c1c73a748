internal import Formats
// ICU, as Foundation contains it.
internal import _FoundationICU

/// The first sentence of a text without a title.
///
/// Sentences end where ICU's rules of Unicode say so (UAX #29), and not after an abbreviation of one of the languages for
/// which the Unicode Common Locale Data Repository lists abbreviations: "Dr. Almi", "U.S. troops", "z. B.".
enum FirstSentence {
    private static let languages = ["en", "de", "fr", "es", "it", "pt", "ru", "el"]
    /// Titles of persons that the repository does not list.
    private static let titles: Set<Substring> = [
        "gov", "sen", "rep", "gen", "col", "lt", "sgt", "capt", "cpt", "maj", "rev", "hon", "pres", "min",
    ]
    /// Minimum number of words, so that a sentence such as "Wow." includes the next one.
    private static let fewestWords = 2
    /// Maximum number of UTF-16 units that are searched for the end of the sentence.
    private static let longest = 2_000

    /// Returns the first sentence of a line of text; the whole text if no sentence ends before.
    static func of(_ text: String) -> String {
        let units = Array(text.utf16.prefix(longest))
        let ends = languages.map { sentenceEnds(units, $0) }
        guard let first = ends.first else { return text }
        let common = ends.dropFirst().reduce(first) { $0.intersection($1) }
        for end in common.sorted() where end < units.count {
            let sentence = String(decoding: units[..<end], as: UTF16.self).trimming(\.isWhitespace)
            if !endsInAbbreviation(sentence), isSaying(sentence) { return String(sentence) }
        }
        return String(text.trimming(\.isWhitespace))
    }

    /// Returns the positions behind the sentences, those of abbreviations left out.
    private static func sentenceEnds(_ units: [UInt16], _ language: String) -> Set<Int> {
        units.withUnsafeBufferPointer { text in
            var status = U_ZERO_ERROR
            let rules = "\(language)@ss=standard"
            // The iterator reads the text in place.
            guard let sentences = swift_ubrk_open(UBRK_SENTENCE, rules, text.baseAddress, Int32(text.count), &status)
            else {
                return []
            }
            defer { swift_ubrk_close(sentences) }
            var ends: Set<Int> = []
            while case let end = swift_ubrk_next(sentences), end >= 0 { ends.insert(Int(end)) }
            return ends
        }
    }

    /// True if the last word is an initial (`J.`) or has points inside (`p.m.`, `U.S.`).
    private static func endsInAbbreviation(_ sentence: Substring) -> Bool {
        guard sentence.last == "." else { return false }
        let word = sentence.dropLast().split(whereSeparator: \.isWhitespace).last ?? ""
        if titles.contains(Substring(word.lowercased())) { return true }
        return word.contains(".") && !word.contains(where: \.isNumber)
            || word.count == 1 && word.first?.isLetter == true
    }

    private static func isSaying(_ sentence: Substring) -> Bool {
        let words = sentence.split(whereSeparator: \.isWhitespace).count
        // Scripts without blanks have one "word".
        return words >= fewestWords || sentence.utf8.count > 30 && words == 1
    }
}
