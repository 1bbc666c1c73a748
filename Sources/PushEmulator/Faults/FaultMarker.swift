import Formats

/// Faults that a device's handle contains, so that a developer needs no other interface.
///
/// A marker is a word, or eight hexadecimal digits, which fit an APNs device token as well. It is the beginning of a
/// token of APNs or FCM, or of the last path segment of a channel or endpoint. `docs/push-emulator.md` lists the
/// markers.
enum FaultMarker {
    /// One in 2^32 real tokens begins with it and a code by chance.
    private static let lead = "fa17"

    private struct Row: Sendable {
        /// Four hexadecimal digits after ``lead``.
        let code: String
        let word: String
        let effect: PushFault.Effect
        /// True if two decimal digits may follow: times or seconds.
        let isCounted: Bool
    }

    private static let rows = [
        Row(code: "dead", word: "dead", effect: .dead(), isCounted: false),
        Row(code: "bad0", word: "malformed", effect: .malformed, isCounted: false),
        Row(code: "0429", word: "throttled", effect: .throttled(), isCounted: true),
        Row(code: "0503", word: "unavailable", effect: .unavailable(), isCounted: true),
        Row(code: "0500", word: "broken", effect: .internalError, isCounted: true),
        Row(code: "0408", word: "slow", effect: .slow(.seconds(1)), isCounted: true),
        Row(code: "060a", word: "goaway", effect: .goAway, isCounted: true),
        Row(code: "0403", word: "badcredential", effect: .badCredential, isCounted: false),
        Row(code: "0400", word: "wrongtopic", effect: .wrongTopic, isCounted: false),
        Row(code: "0200", word: "dropped", effect: .dropped, isCounted: false),
    ]

    /// Returns the fault in the id of a device; `nil` for a device that works.
    static func fault(in id: String) -> PushFault? {
        let start = id.prefix(lead.count + 6).lowercased()
        guard start.hasPrefix(lead) else {
            let parts = id.prefix(32).lowercased().split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
            return word(parts[0], count: parts.dropFirst().first, isStrict: false)
        }
        let rest = start.dropFirst(lead.count)
        guard let row = rows.first(where: { rest.hasPrefix($0.code) }) else { return nil }
        let fault = PushFault(row.effect)
        let digits = rest.dropFirst(row.code.count)
        return row.isCounted && digits.count == 2 ? fault.counted(number(digits)) : fault
    }

    /// Returns the fault of a word and a count; with `isStrict`, `nil` if the count is not a number.
    ///
    /// Otherwise a count that is not a number is the rest of an id.
    static func word(_ word: some StringProtocol, count: Substring?, isStrict: Bool = true) -> PushFault? {
        guard let row = rows.first(where: { $0.word == word }) else { return nil }
        let fault = PushFault(row.effect)
        guard let count, row.isCounted || isStrict else { return fault }
        let number = number(count)
        guard row.isCounted, number != nil || !isStrict else { return nil }
        return fault.counted(number)
    }

    /// Up to two decimal digits.
    private static func number(_ text: Substring) -> Int? {
        guard (1...2).contains(text.utf8.count), text.isDigits else { return nil }
        return Int(text)
    }
}
