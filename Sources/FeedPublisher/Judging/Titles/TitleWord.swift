internal import FeedLists
// Only Foundation, not FoundationEssentials, has compatibility decomposition on Linux.
internal import Foundation

/// A word, number or sign of a title, with what its spelling shows.
struct TitleWord: Equatable {
    enum Kind: Equatable {
        case word
        /// Digits, with thousands joined and a decimal point: `1200`, `2.25`, `-3`.
        case number
        /// A percent sign, a currency, `&`.
        case sign
    }

    var kind: Kind
    /// The text without case, accents and width.
    var text: String
    /// True if the word begins with a capital letter.
    var isCapitalised = false
    /// True if it has a second capital letter.
    var isAbbreviation = false
    /// True if the word touches the one before it, as in `5m`, or in `A12` and `U.S.A.`.
    var touchesLast = false
    /// True if the word touches the one after it.
    var touchesNext = false
}

/// Reads the words of a title; the time is linear in its length.
struct TitleScanner {
    private let scalars: [Unicode.Scalar]
    private var position = 0
    private(set) var words: [TitleWord] = []
    /// Position behind the last word.
    private var end = -1

    static func words(of title: some StringProtocol) -> [TitleWord] {
        var scanner = TitleScanner(title)
        scanner.read()
        return scanner.words
    }

    private init(_ title: some StringProtocol) {
        let isASCII = title.utf8.allSatisfy { $0 < 0x80 }
        scalars = Array((isASCII ? String(title) : title.decomposedStringWithCompatibilityMapping).unicodeScalars)
    }

    private mutating func read() {
        while let scalar = scalar(at: position) {
            if isDigit(scalar) {
                readNumber()
            } else if isLetter(scalar) {
                readWord()
            } else {
                if let sign = Self.signs[scalar] { add(.sign, sign, from: position, to: position + 1) }
                position += 1
            }
        }
    }

    // MARK: Words

    private mutating func readWord() {
        let start = position
        let text = readLetters()
        guard isApostrophe(scalar(at: position)), let next = scalar(at: position + 1), isLetter(next) else {
            return add(.word, text, from: start, to: position)
        }
        position += 1
        let second = position
        let rest = readLetters()
        switch rest {
        // A possessive, or `is`: "Japan's quake" is "Japan quake".
        case "s": add(.word, text, from: start, to: position)
        case "t" where text.hasSuffix("n"):
            add(
                .word,
                Self.negated[String(text.dropLast())] ?? String(text.dropLast()),
                from: start,
                to: second
            )
            add(.word, "not", from: second + 1, to: position)
        default:
            add(.word, text, from: start, to: second - 1)
            add(.word, rest, from: second, to: position)
        }
    }

    /// Reads letters, and returns them without case and accents.
    private mutating func readLetters() -> String {
        var text = String.UnicodeScalarView()
        while let scalar = scalar(at: position), isLetter(scalar) || isMark(scalar) {
            text.append(scalar)
            position += 1
        }
        return FoldedWords.of(String(text)).joined()
    }

    // MARK: Numbers

    /// Reads a number: `1,200`, `1.200`, `1 200` and `1200` are one; `2,5` is `2.5`; `2.0.1` is kept.
    private mutating func readNumber() {
        let start = position
        var parts = [readDigits()]
        var separators: [Unicode.Scalar] = []
        while let separator = scalar(at: position), ".,' \u{2019}".unicodeScalars.contains(separator),
            scalar(at: position + 1).map(isDigit) ?? false
        {
            let isPoint = separator == "." || separator == ","
            let digits = countDigits(from: position + 1)
            let isGroup = digits == 3 && parts[0].count <= 3 && parts[0] != "0"
            guard isPoint || isGroup, isPoint || separators.allSatisfy({ $0 == separator }) else { break }
            separators.append(separator)
            position += 1
            parts.append(readDigits())
        }
        var number = Self.number(parts, separators)
        if start > 0, let sign = Self.minus[scalars[start - 1]], start == 1 || scalars[start - 2] == " " {
            number = sign + number
        }
        add(.number, number, from: start, to: position)
    }

    private static func number(_ parts: [String], _ separators: [Unicode.Scalar]) -> String {
        var whole = parts[0]
        var rest = parts.dropFirst()
        let isGrouped = whole.count <= 3 && whole != "0" && rest.first?.count == 3
        if isGrouped, let mark = separators.first {
            var used = 0
            for (separator, part) in zip(separators, rest) {
                guard separator == mark, part.count == 3 else { break }
                whole += part
                used += 1
            }
            rest = rest.dropFirst(used)
        }
        whole = String(whole.drop { $0 == "0" })
        return ([whole.isEmpty ? "0" : whole] + rest).joined(separator: ".")
    }

    private mutating func readDigits() -> String {
        var digits = ""
        while let scalar = scalar(at: position), isDigit(scalar) {
            digits.append(Character(scalar))
            position += 1
        }
        // Digits of other scripts have the same values.
        return digits.utf8.count == digits.count
            ? digits : String(digits.compactMap { $0.wholeNumberValue.map(String.init) }.joined())
    }

    private func countDigits(from first: Int) -> Int {
        var last = first
        while let scalar = scalar(at: last), isDigit(scalar) { last += 1 }
        return last - first
    }

    // MARK: Scalars

    private mutating func add(_ kind: TitleWord.Kind, _ text: String, from start: Int, to end: Int) {
        guard !text.isEmpty else { return }
        // "U.S.A.", "e-bikes" and "5m" are written as one.
        let gap = start - self.end
        let touches =
            !words.isEmpty
            && (gap == 0 || (gap == 1 && [".", "-", "\u{2010}", "\u{2011}"].contains(scalars[start - 1])))
        if touches { words[words.count - 1].touchesNext = true }
        func isCapital(_ position: Int) -> Bool {
            position < end && scalars[position].properties.generalCategory == .uppercaseLetter
        }
        words.append(
            TitleWord(
                kind: kind,
                text: text,
                isCapitalised: isCapital(start),
                isAbbreviation: isCapital(start) && isCapital(start + 1),
                touchesLast: touches
            )
        )
        self.end = end
    }

    private func scalar(at position: Int) -> Unicode.Scalar? {
        position < scalars.count ? scalars[position] : nil
    }

    private func isDigit(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII ? 0x30...0x39 ~= scalar.value : scalar.properties.generalCategory == .decimalNumber
    }

    private func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return 0x61...0x7A ~= scalar.value | 0x20 }
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .letterNumber,
            .otherNumber:
            return true
        default: return false
        }
    }

    private func isMark(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return false }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .format: return true
        default: return false
        }
    }

    private func isApostrophe(_ scalar: Unicode.Scalar?) -> Bool {
        scalar == "'" || scalar == "\u{2019}" || scalar == "\u{02BC}"
    }

    /// The words before `n't` that change.
    private static let negated = ["ca": "can", "wo": "will"]
    private static let minus: [Unicode.Scalar: String] = ["-": "-", "\u{2212}": "-", "+": "+"]
    private static let signs: [Unicode.Scalar: String] = [
        "%": "%", "&": "&", "$": "dollar", "€": "euro", "£": "pound", "¥": "yen",
    ]
}
