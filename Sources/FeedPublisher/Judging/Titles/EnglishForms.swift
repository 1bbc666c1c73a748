/// The plain forms of English words: singular, present and American spelling.
///
/// A wrong form only makes two titles different, so a story is announced twice. A form that belonged to two different words
/// would lose one, so no rule drops letters that distinguish words, and none is for `-ing`: dying is not dead. The rules
/// find the same form for equal words of any language.
enum EnglishForms {
    /// Returns the form of a word in small letters.
    static func plain(_ word: String) -> String {
        guard word.utf8.count > 2, word.utf8.allSatisfy({ 0x61...0x7A ~= $0 }) else { return word }
        if let form = irregular[word] { return form }
        let base = present(singular(word)) ?? singular(word)
        return americanWords[base] ?? american(irregular[base] ?? base)
    }

    // MARK: Plural and third person

    private static func singular(_ word: String) -> String {
        guard word.utf8.count > 3, word.hasSuffix("s"), !["ss", "us", "is"].contains(where: word.hasSuffix) else {
            return word
        }
        if word.hasSuffix("ies") { return word.utf8.count > 4 ? word.dropLast(3) + "y" : String(word.dropLast()) }
        let isLong = ["sses", "shes", "ches", "xes", "zzes", "oes"].contains(where: word.hasSuffix)
        return String(word.dropLast(isLong ? 2 : 1))
    }

    // MARK: Simple past

    /// Returns the present of a past form in `-ed`; `nil` for other words.
    private static func present(_ word: String) -> String? {
        guard word.utf8.count > 4, word.hasSuffix("ed"), !word.hasSuffix("eed") else { return nil }
        if word.hasSuffix("ied") { return word.utf8.count > 4 ? word.dropLast(3) + "y" : String(word.dropLast()) }
        let stem = Array(word.utf8.dropLast(2))
        guard stem.contains(where: isVowel), stem.count > 2 else { return stem.count > 1 ? text(stem) + "e" : nil }
        let last = stem[stem.count - 1]
        if last == stem[stem.count - 2], !isVowel(last) {
            // "planned" is of "plan", but "called" of "call"; "cancelled" of "cancel".
            let staysDouble = "lsfz".utf8.contains(last) && (last != UInt8(ascii: "l") || syllables(stem) < 2)
            return text(staysDouble || stem.count < 4 ? stem[...] : stem.dropLast())
        }
        return text(stem) + (endsInE(stem) ? "e" : "")
    }

    /// True if the verb of this stem is written with an `e` at its end: "close", "settle", "divide", "name".
    private static func endsInE(_ stem: [UInt8]) -> Bool {
        let whole = text(stem)
        let last = stem[stem.count - 1]
        let second = stem[stem.count - 2]
        if withE.contains(where: whole.hasSuffix) { return true }
        if "csuvz".utf8.contains(last) { return true }
        if last == UInt8(ascii: "g") { return !whole.hasSuffix("ong") }
        if last == UInt8(ascii: "l"), !isVowel(second) { return !"rlw".utf8.contains(second) }
        guard isVowel(second), !"wxy".utf8.contains(last), !isVowel(last) else { return false }
        let third = stem[stem.count - 3]
        let isLongVowel = isVowel(third) && !(third == UInt8(ascii: "u") && hasQ(stem, before: stem.count - 3))
        if whole.hasSuffix("at") { return third != UInt8(ascii: "e") && third != UInt8(ascii: "o") }
        if isLongVowel { return false }
        return syllables(stem) == 1 || usuallyWithE.contains(text(stem.suffix(2)))
    }

    /// Ends of stems behind a consonant.
    private static let usuallyWithE: Set<String> = [
        "ad", "ar", "ed", "id", "il", "in", "ir", "ok", "od", "ud", "ul", "um", "ur", "ut",
    ]
    private static let withE = [
        "creat", "unit", "invit", "ignit", "excit", "incit", "promot", "devot", "complet", "delet", "compet", "postpon",
        "restor", "ignor", "explor", "deplor", "escap", "inhal", "exhal", "wast", "tast",
    ]

    // MARK: Spelling

    /// Returns the American spelling by rules: harbour, modernise, centre, catalogue.
    private static func american(_ word: String) -> String {
        guard word.utf8.count > 4 else { return word }
        var word = word
        for (british, american) in endings where word.hasSuffix(british) {
            word = word.dropLast(british.count) + american
            break
        }
        if let range = word.firstRange(of: "our"), word.distance(from: word.startIndex, to: range.lowerBound) > 1 {
            word.replaceSubrange(range, with: "or")
        }
        return word
    }

    private static let endings = [
        ("isation", "ization"), ("ise", "ize"), ("ising", "izing"), ("iser", "izer"), ("yse", "yze"),
        ("ysing", "yzing"), ("tre", "ter"), ("bre", "ber"), ("logue", "log"), ("fence", "fense"), ("elling", "eling"),
        ("eller", "eler"), ("ageing", "aging"), ("dgement", "dgment"), ("ll", "l"),
    ]

    private static let americanWords = [
        "grey": "gray", "tyre": "tire", "jewellery": "jewelry", "aeroplane": "airplane", "programme": "program",
        "kerb": "curb", "plough": "plow", "sceptic": "skeptic", "sceptical": "skeptical", "manoeuvre": "maneuver",
        "mould": "mold", "pyjama": "pajama", "aluminium": "aluminum", "cosy": "cozy", "artefact": "artifact",
        "enquiry": "inquiry", "adviser": "advisor", "protestor": "protester", "sulphur": "sulfur",
        "practise": "practice", "licence": "license", "pretence": "pretense", "rouble": "ruble", "taleban": "taliban",
        "paediatric": "pediatric", "haemorrhage": "hemorrhage", "anaesthetic": "anesthetic",
        "archaeology": "archeology", "archaeologist": "archeologist", "leukaemia": "leukemia", "oestrogen": "estrogen",
        "diarrhoea": "diarrhea", "and": "&", "und": "&", "et": "&", "v": "versus", "vs": "versus", "pct": "%",
        "percent": "%", "prozent": "%", "whisky": "whiskey", "yoghurt": "yogurt", "moustache": "mustache",
        "draught": "draft", "storey": "story", "cheque": "check", "traveller": "traveler", "counsellor": "counselor",
        "marvellous": "marvelous", "kyiv": "kiev",
    ]

    /// Forms without a rule.
    private static let irregular = [
        "are": "is", "was": "is", "were": "is", "has": "have", "had": "have", "did": "do", "does": "do", "done": "do",
        "news": "news", "buses": "bus", "gases": "gas", "viruses": "virus", "bonuses": "bonus", "campuses": "campus",
        "shoes": "shoe", "men": "man", "women": "woman", "children": "child", "feet": "foot", "knives": "knife",
        "wolves": "wolf", "thieves": "thief", "lives": "life", "wives": "wife", "mice": "mouse", "teeth": "tooth",
        "freed": "free", "agreed": "agree", "fled": "flee", "won": "win", "lost": "lose", "found": "find",
        "fell": "fall", "rose": "rise", "shot": "shoot", "said": "say", "met": "meet", "took": "take", "gave": "give",
        "made": "make", "broke": "break", "held": "hold", "led": "lead", "kept": "keep", "sank": "sink", "sent": "send",
        "spent": "spend", "sold": "sell", "told": "tell", "bought": "buy", "brought": "bring", "caught": "catch",
        "began": "begin", "became": "become", "came": "come", "drew": "draw", "drove": "drive", "fought": "fight",
        "flew": "fly", "got": "get", "went": "go", "grew": "grow", "knew": "know", "paid": "pay", "ran": "run",
        "saw": "see", "shook": "shake", "spoke": "speak", "stole": "steal", "swept": "sweep", "swore": "swear",
        "threw": "throw", "tore": "tear", "wrote": "write", "stood": "stand", "swam": "swim", "froze": "freeze",
        "chose": "choose", "fed": "feed", "hung": "hang", "sought": "seek", "built": "build", "dealt": "deal",
        "dug": "dig", "blew": "blow", "struck": "strike", "stuck": "stick", "wore": "wear", "rode": "ride",
        "died": "die", "dies": "die", "used": "use", "sued": "sue", "owed": "owe", "tied": "tie", "lied": "lie",
        "left": "leave", "ageing": "aging", "axed": "axe",
    ]

    // MARK: Letters

    private static func isVowel(_ letter: UInt8) -> Bool { "aeiouy".utf8.contains(letter) }

    private static func hasQ(_ stem: [UInt8], before position: Int) -> Bool {
        position > 0 && stem[position - 1] == UInt8(ascii: "q")
    }

    /// The number of groups of vowels.
    private static func syllables(_ stem: [UInt8]) -> Int {
        var count = 0
        for (position, letter) in stem.enumerated() where isVowel(letter) {
            let isSecond = position > 0 && isVowel(stem[position - 1])
            let isAfterQ = letter == UInt8(ascii: "u") && hasQ(stem, before: position)
            if !isSecond, !isAfterQ { count += 1 }
        }
        return count
    }

    private static func text(_ letters: some Sequence<UInt8>) -> String {
        String(decoding: Array(letters), as: UTF8.self)
    }
}
