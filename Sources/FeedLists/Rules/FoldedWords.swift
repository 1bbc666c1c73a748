// Only Foundation, not FoundationEssentials, has compatibility decomposition on Linux.
internal import Foundation

/// A text as words without case, accents and width, for comparing texts that people write.
package enum FoldedWords {
    /// The runs of letters and digits in lower case; a sign before a number is kept with it.
    ///
    /// Marks of Latin, Greek, Cyrillic, Hebrew and Arabic are dropped; in other scripts marks distinguish letters.
    /// The time is linear in the length of the text.
    package static func of(_ text: some StringProtocol) -> [String] {
        let isASCII = text.utf8.allSatisfy { $0 < 0x80 }
        let plain = isASCII ? String(text) : text.decomposedStringWithCompatibilityMapping
        var words: [String] = []
        var word = String.UnicodeScalarView()
        var sign: Unicode.Scalar?
        for scalar in plain.unicodeScalars {
            if isWord(scalar) {
                if word.isEmpty, let sign, scalar.properties.numericType != nil { word.append(sign) }
                sign = nil
                append(scalar, to: &word)
            } else if !isDropped(scalar) {
                sign = word.isEmpty ? signs[scalar] : nil
                if !word.isEmpty {
                    words.append(String(word))
                    word = String.UnicodeScalarView()
                }
            }
        }
        if !word.isEmpty { words.append(String(word)) }
        return words
    }

    /// True if this script writes words without spaces, so that they cannot be separated.
    package static func runsOn(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Thai to Tibetan, Myanmar, Hangul letters, Khmer, kana, ideographs, Hangul syllables, and supplementary
        // ideographs.
        case 0x0E00...0x0FFF, 0x1000...0x11FF, 0x1780...0x17FF, 0x3040...0x30FF, 0x3400...0x9FFF, 0xAC00...0xD7FF,
            0xF900...0xFAFF, 0x20000...0x3FFFF:
            true
        default: false
        }
    }

    private static let signs: [Unicode.Scalar: Unicode.Scalar] = ["-": "-", "\u{2212}": "-", "+": "+"]

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII {
            return 0x30...0x39 ~= scalar.value || 0x61...0x7A ~= scalar.value | 0x20
        }
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber, .spacingMark:
            return true
        case .nonspacingMark: return !isDropped(scalar)
        default: return false
        }
    }

    private static func isDropped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Accents, points, vowel signs; soft hyphen, zero-width characters, variation selectors.
        case 0x0300...0x036F, 0x0591...0x05C7, 0x064B...0x065F, 0x0670, 0x00AD, 0x200B...0x200F, 0x2060,
            0xFE00...0xFE0F:
            true
        default: false
        }
    }

    /// Letters that Unicode does not decompose, with their plain spelling.
    private static let plainLetters: [Unicode.Scalar: String] = [
        "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ς": "σ",
    ]

    private static func append(_ scalar: Unicode.Scalar, to word: inout String.UnicodeScalarView) {
        if scalar.isASCII {
            word.append(0x41...0x5A ~= scalar.value ? Unicode.Scalar(UInt8(scalar.value) | 0x20) : scalar)
            return
        }
        for lower in scalar.properties.lowercaseMapping.unicodeScalars where !isDropped(lower) {
            if let plain = plainLetters[lower] {
                word.append(contentsOf: plain.unicodeScalars)
            } else {
                word.append(lower)
            }
        }
    }
}
