extension Unicode.Scalar {
    /// True if a regular expression's `\w` matches this scalar, as .NET defines it: letters, combining marks, decimal
    /// digits and connecting punctuation.
    ///
    /// Spacing marks are accepted as well, which .NET excludes: without them most words of Hindi or Tamil could not be
    /// tags.
    var isWordCharacter: Bool {
        if isASCII { return isPropertyCharacter }
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .decimalNumber, .connectorPunctuation:
            return true
        default: return false
        }
    }

    /// `[-_@#.:\w]`, the alphabet of a tag (protocol §6).
    var isTagCharacter: Bool {
        switch self {
        case "-", "@", "#", ".", ":": true
        default: isWordCharacter
        }
    }

    /// `[-_@#.:=\w]`, the alphabet of installation and user ids (protocol §6).
    var isIdentifierCharacter: Bool { self == "=" || isTagCharacter }
}
