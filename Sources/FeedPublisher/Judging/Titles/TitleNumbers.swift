/// Numbers of titles, as values.
enum TitleNumbers {
    /// Returns the value of a number word up to twenty, of tens, or of an ordinal; `nil` for other words.
    static func value(of word: String) -> String? { words[word] }

    /// The value behind tens: "twenty-one".
    static func sum(_ tens: String, _ unit: String) -> String? {
        guard tens.utf8.count == 2, tens.hasSuffix("0"), tens != "10", let unit = words[unit], unit.utf8.count == 1
        else {
            return nil
        }
        return tens.dropLast() + unit
    }

    /// Returns the power of ten of "million" or "bn".
    static func power(of word: String) -> Int? { powers[word] }

    /// Multiplies a decimal number by a power of ten.
    static func scaled(_ number: String, by power: Int) -> String {
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2 else { return number }
        let fraction = parts.count == 2 ? String(parts[1]) : ""
        guard fraction.utf8.count <= power else { return number }
        let digits = parts[0] + fraction + String(repeating: "0", count: power - fraction.utf8.count)
        let trimmed = digits.drop { $0 == "0" }
        return trimmed.isEmpty ? "0" : String(trimmed)
    }

    /// Returns a number without zeros that do not change its value.
    ///
    /// `2.0` is `2`, but 3.10 is a later version than 3.1; only with a unit are `2.50` and `2.5` one value.
    static func trimmed(_ number: String, hasUnit: Bool) -> String {
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return number }
        if parts[1].allSatisfy({ $0 == "0" }) { return String(parts[0]) }
        guard hasUnit else { return number }
        var digits = parts[1]
        while digits.last == "0" { digits.removeLast() }
        return "\(parts[0]).\(digits)"
    }

    /// Replaces Chinese and Japanese numerals up to 9,999 by their values.
    static func arabic(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { numerals[$0] != nil || multiples[$0] != nil }) else { return text }
        var result = ""
        var total = 0
        var digit: Int?
        var isOpen = false
        func close() {
            if isOpen { result += "#\(total + (digit ?? 0))#" }
            (total, digit, isOpen) = (0, nil, false)
        }
        for scalar in text.unicodeScalars {
            if let value = numerals[scalar] {
                if digit != nil { close() }
                (digit, isOpen) = (value, true)
            } else if let multiple = multiples[scalar] {
                total += (digit ?? 1) * multiple
                (digit, isOpen) = (nil, true)
            } else {
                close()
                result.unicodeScalars.append(scalar)
            }
        }
        close()
        return result
    }

    private static let numerals: [Unicode.Scalar: Int] = [
        "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9,
    ]
    private static let multiples: [Unicode.Scalar: Int] = ["十": 10, "百": 100, "千": 1_000]

    private static let powers = [
        "m": 6, "mn": 6, "mln": 6, "mio": 6, "million": 6, "millions": 6, "millionen": 6, "bn": 9, "billion": 9,
        "billions": 9, "mrd": 9, "milliarde": 9, "milliarden": 9, "milliard": 9, "milliards": 9, "tn": 12,
        "trillion": 12, "trillions": 12, "hundred": 2, "thousand": 3, "k": 3,
    ]

    private static let words: [String: String] = {
        let cardinals = [
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
                + " seventeen eighteen nineteen twenty",
            "null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf",
            "zero - deux trois quatre cinq six sept huit neuf dix onze douze",
            "cero uno dos tres cuatro cinco seis siete ocho nueve diez",
            "- - - - quattro cinque - sette otto - dieci",
        ]
        let tens = "thirty forty fifty sixty seventy eighty ninety"
        let ordinals = "- first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
        var words: [String: String] = ["fuenf": "5", "zwoelf": "12"]
        for list in cardinals {
            for (value, word) in list.split(separator: " ").enumerated() where word != "-" {
                words[String(word)] = "\(value)"
            }
        }
        for (value, word) in tens.split(separator: " ").enumerated() { words[String(word)] = "\(value + 3)0" }
        for (value, word) in ordinals.split(separator: " ").enumerated() where word != "-" {
            words[String(word)] = "\(value)th"
        }
        return words
    }()
}
