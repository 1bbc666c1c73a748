import Formats

extension String {
    /// The text in the form for errors: without control or format characters and at most 80 scalars long.
    package var excerpt: String {
        let limit = 80
        var shown = String.UnicodeScalarView()
        for scalar in unicodeScalars.prefix(limit) {
            shown.append(scalar.isPrintable ? scalar : "\u{FFFD}")
        }
        return String(shown) + (unicodeScalars.dropFirst(limit).isEmpty ? "" : "…")
    }
}

extension Unicode.Scalar {
    /// The scalar as an error names it: in quotes, or by number if it is invisible.
    var named: String {
        if self == " " { return "a space" }
        if isPrintable { return "'\(self)'" }
        let digits = String(value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
