/// Names of months, half days and zones in dates.
enum DateNames {
    /// The names of months, one month in each line.
    ///
    /// English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Greek, Hungarian, Swedish, Czech
    /// and Turkish; short and long, with case endings that dates use.
    private static let monthNames = """
        jan january januar jänner janv janvier ene enero gen gennaio janeiro januari sty stycznia янв января ιαν \
        ιανουαρίου január leden ledna led ocak oca
        feb february februar fév févr février feb febrero febbraio fev fevereiro februari lut lutego фев февр февраля \
        φεβ φεβρουαρίου február únor února úno şubat şub
        mar march mär märz mrz mars marzo março mrt maart marca марта мар μαρ μάρ μαρτίου márc március březen března \
        bře mart
        apr april avr avril abr abril aprile kwi kwietnia апр апреля απρ απριλίου ápr április duben dubna dub nisan \
        nis
        may mai mayo mag maggio maio mei maj maja мая май μαϊ μάι μαΐου máj május květen května kvě mayıs mayis
        jun june juni juin junio giu giugno junho cze czerwca июн июня ιουν ιούν ιουνίου jún június červen června čvn \
        haziran haz
        jul july juli juil juillet julio lug luglio julho lip lipca июл июля ιουλ ιούλ ιουλίου júl július červenec \
        července čvc temmuz tem
        aug august août aou ago agosto augustus sie sierpnia авг августа αυγ αύγ αυγούστου augusztus augusti srpen \
        srpna srp ağustos ağu
        sep sept september septembre septiembre set settembre setembro wrz września сен сент сентября σεπ σεπτεμβρίου \
        szept szeptember září zář eylül eyl
        oct october okt oktober octobre octubre ott ottobre out outubro paź października окт октября οκτ οκτωβρίου \
        október říjen října říj ekim eki
        nov november novembre noviembre novembro lis listopada ноя нояб ноября νοε νοέ νοεμβρίου listopad listopadu \
        kasım kasim kas
        dec december dez dezember déc décembre dic diciembre dicembre dezembro gru grudnia дек декабря δεκ δεκεμβρίου \
        prosinec prosince pro aralık aralik ara
        """.split(separator: "\n")

    // Three lower-case letters packed into one number.
    static let englishMonths: [UInt32] = packed("jan feb mar apr may jun jul aug sep oct nov dec")
    static let weekdays: [UInt32] = packed("mon tue wed thu fri sat sun")
    static let gmt: UInt32 = 0x676D74
    static let t: UInt32 = 0x74

    private static func packed(_ words: String) -> [UInt32] {
        words.split(separator: " ").map { $0.utf8.reduce(0) { $0 << 8 | UInt32($1) } }
    }

    private static let months: [String: Int] = {
        var table: [String: Int] = [:]
        for (index, names) in monthNames.enumerated() {
            for name in names.split(separator: " ") { table[String(name)] = index + 1 }
        }
        return table
    }()

    /// The offsets of zones in hours east of UTC.
    ///
    /// `IST` means India more often than Ireland or Israel.
    private static let zones: [String: Double] = [
        "gmt": 0, "utc": 0, "ut": 0, "wet": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6,
        "pst": -8, "pdt": -7, "et": -5, "ct": -6, "mt": -7, "pt": -8, "akst": -9, "akdt": -8, "hst": -10, "ast": -4,
        "adt": -3, "nst": -3.5, "brt": -3,
        "bst": 1, "west": 1, "cet": 1, "mez": 1, "cest": 2, "mesz": 2, "eet": 2, "sast": 2, "eest": 3, "msk": 3,
        "ist": 5.5, "sgt": 8, "hkt": 8, "jst": 9, "kst": 9, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13,
    ]

    /// Zones of the United States whose names do not tell whether summer time applies.
    private static let american: Set<String> = ["et", "ct", "mt", "pt"]

    /// The year, month and day of East Asian dates, and the ordinals of English ones.
    private static let units: Set<String> = ["年", "月", "日", "년", "월", "일", "st", "nd", "rd", "th"]

    static func isUnit(_ word: String) -> Bool { units.contains(word) }

    static func isAmerican(_ word: String) -> Bool { american.contains(word) }

    /// The bytes of a date, with typographic minus signs, hyphens and spaces replaced by ASCII.
    static func plain(_ text: ArraySlice<UInt8>) -> [UInt8] {
        guard text.contains(where: { $0 >= 0x80 }) else { return Array(text) }
        var plain = String.UnicodeScalarView()
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            switch scalar.value {
            case 0x2010...0x2013, 0x2212: plain.append("-")
            case 0xA0, 0x2000...0x200F, 0x202F: plain.append(" ")
            default: plain.append(scalar)
            }
        }
        return Array(String(plain).utf8)
    }

    /// A word in lower case, without the combining dot that results from `İ`.
    static func folded(_ word: ArraySlice<UInt8>) -> String {
        let lower = String(decoding: word, as: UTF8.self).lowercased()
        return word.contains(0xC4) ? String(lower.unicodeScalars.filter { $0.value != 0x307 }) : lower
    }

    static func month(_ word: String) -> Int? { months[word] }

    /// The offset of a zone in seconds east of UTC.
    ///
    /// Military letters count as UTC, since RFC 822 defines them with the wrong sign.
    static func zone(_ word: String) -> Int? {
        word.utf8.count == 1 ? 0 : zones[word].map { Int($0 * 3_600) }
    }

    static func isAfternoon(_ word: String) -> Bool? {
        switch word {
        case "am", "오전", "午前", "上午": false
        case "pm", "오후", "午後", "下午": true
        default: nil
        }
    }
}
