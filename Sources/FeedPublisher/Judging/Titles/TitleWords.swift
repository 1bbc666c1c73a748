internal import FeedLists

/// The words of a title in their plain forms, without articles.
struct TitleWords {
    /// The words, joined, since compounds are written in several ways ("air strike", "airstrike", "e-bike"); numbers are
    /// between `#`.
    private(set) var text = ""
    /// The number of words with a meaning of their own.
    private(set) var meaning = 0
    /// The number of letters of scripts that do not separate words.
    private(set) var runOnLetters = 0

    init(_ title: some StringProtocol, without marks: EditorialMarks) {
        let all = Self.unmarked(TitleScanner.words(of: title), by: marks)
        let isCapital = !title.contains(where: \.isLowercase)
        let isGerman = all.contains { Self.germanWords.contains($0.text) }
        var position = 0
        while position < all.count {
            let word = all[position]
            if let number = Self.number(all, &position) {
                text += number
                continue
            }
            defer { position += 1 }
            let next = position + 1 < all.count ? all[position + 1] : nil
            if isArticle(word, before: next, isFirst: position == 0, isCapital: isCapital) { continue }
            // "per cent"
            if word.text == "per", next?.text == "cent" {
                text += "%"
                position += 1
                continue
            }
            add(word, isGerman: isGerman)
        }
    }

    private mutating func add(_ word: TitleWord, isGerman: Bool) {
        if word.kind == .sign {
            text += word.text
            return
        }
        let letters = word.text.unicodeScalars.count { FoldedWords.runsOn($0) }
        if letters > 0 {
            text += TitleNumbers.arabic(word.text)
            runOnLetters += letters
            return
        }
        text += EnglishForms.plain(isGerman ? Self.withoutUmlauts(word.text) : word.text)
        if !Self.commonWords.contains(word.text) { meaning += 1 }
    }

    private static func unmarked(_ words: [TitleWord], by marks: EditorialMarks) -> [TitleWord] {
        guard !marks.isEmpty else { return words }
        let texts = words.map(\.text)
        let rest = marks.unmarked(texts)
        guard rest.count < texts.count else { return words }
        return Array(Array(texts.suffix(rest.count)) == rest ? words.suffix(rest.count) : words.prefix(rest.count))
    }

    // MARK: Numbers

    /// Reads a number with its unit, such as `$5m`, `2.50 %`, `twenty-one` or `2nd`, and moves `position` behind it.
    private static func number(_ words: [TitleWord], _ position: inout Int) -> String? {
        var next = position
        let currency = words[next].kind == .sign && next + 1 < words.count && words[next + 1].kind == .number
        // "&" and "%" are no currencies.
        if currency {
            guard words[next].text.utf8.count > 1, words[next + 1].touchesLast else { return nil }
            next += 1
        }
        guard var number = words[next].kind == .number ? words[next].text : TitleNumbers.value(of: words[next].text)
        else { return nil }
        next += 1
        let following = next < words.count ? words[next] : nil
        if let following, let sum = TitleNumbers.sum(number, following.text), words[next - 1].kind == .word {
            number = sum
            next += 1
        } else if let following, following.touchesLast, ["st", "nd", "rd", "th"].contains(following.text) {
            number += "th"
            next += 1
        } else if let following, let power = TitleNumbers.power(of: following.text), !number.hasSuffix("th"),
            following.text.utf8.count > 1 || following.touchesLast
        {
            number = TitleNumbers.scaled(number, by: power)
            next += 1
        }
        let unit = next < words.count ? words[next].text : ""
        number = TitleNumbers.trimmed(number, hasUnit: currency || units.contains(unit))
        // "$5m" is "5m dollars".
        let name = currency ? words[position].text : ""
        position = next
        return "#\(number)#\(name)"
    }

    private static let units: Set<String> = [
        "%", "per", "percent", "prozent", "pct", "dollar", "dollars", "euro", "euros", "pound", "pounds", "yen", "km",
        "metres", "meters", "kg", "tonnes", "tons", "degrees", "grad", "kilometres", "kilometers",
    ]

    // MARK: Articles

    /// True for an article, which is written in small letters or begins the title: "UN" and "LA" are names.
    private func isArticle(_ word: TitleWord, before next: TitleWord?, isFirst: Bool, isCapital: Bool) -> Bool {
        guard word.kind == .word, !word.touchesLast, !word.touchesNext, next != nil else { return false }
        switch word.text {
        case "the": return true
        case "a", "an": return !word.isCapitalised || isFirst || isCapital
        // "Two die in crash": the article stands before a noun.
        case "die": return isFirst || (!word.isCapitalised && next?.isCapitalised == true)
        default:
            let isSmall = !word.isCapitalised || (isFirst && !word.isAbbreviation)
            return isSmall && !isCapital && Self.articles.contains(word.text)
        }
    }

    private static let articles: Set<String> = [
        "der", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines", "le", "la", "les", "l",
        "un",
        "une", "el", "los", "las", "una", "unos", "unas", "il", "lo", "gli", "i", "uno", "o", "os", "uma", "het", "een",
    ]

    // MARK: Words

    /// Writes `ae` for `ä` as `a`, as accents are dropped; only in German, since "poet" is not "pot".
    private static func withoutUmlauts(_ word: String) -> String {
        var result: [UInt8] = []
        for letter in word.utf8 {
            let last = result.last
            let isUmlaut = letter == UInt8(ascii: "e") && (last.map { "aou".utf8.contains($0) } ?? false)
            let isAfterVowel = result.count > 1 && "aeiouq".utf8.contains(result[result.count - 2])
            if isUmlaut, !isAfterVowel { continue }
            result.append(letter)
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static let germanWords: Set<String> = [
        "nach", "von", "vom", "mit", "und", "fur", "fuer", "uber", "ueber", "auf", "aus", "bei", "beim", "gegen", "im",
        "zum", "zur", "nicht", "wird", "wegen", "der", "das", "dem", "eine", "einen", "ist", "sich", "vor", "zu", "am",
    ]

    /// Words that do not say what a story is about: prepositions, conjunctions, pronouns, auxiliary verbs, and times.
    private static let commonWords = Set(
        """
        a an the of in on at by for from to with as and or but is are was were be been has have had will it its this
        that we our you your i my they their his her he she not no what how why who when up out over about after into
        off all new more now here there so if do und oder im am auf aus bei fur mit nach von vom zu zum zur uber vor ist
        sind wird nicht neue neuer neues der die das den dem des ein eine einer et ou de du la le les en au aux dans
        pour par sur avec est un une l d del della di da dos e y o el los las con por para al il lo che per van het een
        op today tomorrow yesterday tonight day days week weeks month year daily weekly monthly morning afternoon
        evening night noon weekend monday tuesday wednesday thursday friday saturday sunday january february march april
        may june july august september october november december news heute morgen gestern tag woche montag dienstag
        mittwoch donnerstag freitag samstag sonntag aujourd hui jour semaine hoy dia semana oggi giorno
        """.split(whereSeparator: \.isWhitespace).map(String.init)
    )
}
