internal import FeedLists

/// Words of editors and agencies before and after a title that are not part of the story: `UPDATE 1-`, `Watch:`,
/// `(video)`.
///
/// A label is set off by a colon, a dash, a bar or brackets: "Live music venue closes" has none.
enum TitleLabels {
    private static let labels: Set<String> = [
        "breaking", "breaking news", "just in", "live", "live updates", "live blog", "liveblog", "update", "updated",
        "updates", "urgent", "exclusive", "video", "watch", "watch live", "flash", "news flash", "newsflash", "alert",
        "news alert", "developing", "developing story", "latest", "the latest", "new", "photos", "pictures",
        "in pictures", "listen", "lead", "wrapup", "wrap up", "refile", "rpt", "repeat", "recap", "snap", "newsalert",
        "as it happened", "eilmeldung", "eil", "liveticker", "ticker", "newsticker", "live ticker", "aktuell", "bilder",
        "fotos", "alerte", "alerte info", "urgente", "direct", "en direct", "derniere minute", "flash info",
        "ultima hora", "ultimo minuto", "ultime notizie", "ultim ora", "ultimora", "ultima ora", "en vivo",
        "en directo", "diretta", "in diretta", "ao vivo", "atencao", "速報", "号外", "快讯", "突发",
    ]
    /// Number of letters in which a label ends.
    private static let longestLabel = 24
    private static let brackets: [Character: Character] = ["[": "]", "(": ")", "【": "】", "<": ">"]
    private static let dashes: Set<Character> = ["-", "–", "—"]

    static func removed(from title: some StringProtocol) -> Substring {
        var rest = trimmed(Substring(title))
        while let shorter = withoutFirst(rest) ?? withoutLast(rest), !FoldedWords.of(shorter).isEmpty {
            rest = trimmed(shorter)
        }
        return rest
    }

    private static func withoutFirst(_ title: Substring) -> Substring? {
        if let first = title.first, let closing = brackets[first] {
            guard let end = title.dropFirst().prefix(longestLabel).firstIndex(of: closing),
                isLabel(title[title.index(after: title.startIndex)..<end])
            else { return nil }
            return title[title.index(after: end)...]
        }
        for position in title.indices.prefix(longestLabel) {
            let (head, mark, tail) = (title[..<position], title[position], title[title.index(after: position)...])
            switch mark {
            case ":", "|", "：":
                return isLabel(head) ? tail : nil
            case _ where dashes.contains(mark):
                // "UPDATE 1-Oil price falls" has no blank; "Live-streamed trial" is no label.
                let isSetOff = head.last == " " && tail.first == " "
                if isLabel(head), isSetOff || isOfAgency(head, before: tail) { return tail }
            default: continue
            }
        }
        return nil
    }

    private static func isOfAgency(_ head: Substring, before tail: Substring) -> Bool {
        head == head.uppercased() && (head.last.map(\.isNumber) ?? false || tail.contains(where: \.isLowercase))
    }

    private static func withoutLast(_ title: Substring) -> Substring? {
        if let last = title.last, let (opening, _) = brackets.first(where: { $0.value == last }) {
            guard let start = title.lastIndex(of: opening), isLabel(title[title.index(after: start)...].dropLast())
            else { return nil }
            return title[..<start]
        }
        guard let parts = PublisherNames.split(title), isLabel(parts.ending) else { return nil }
        return parts.rest
    }

    private static func isLabel(_ text: Substring) -> Bool {
        var words = FoldedWords.of(text)
        // The number of an update.
        if words.count > 1, let last = words.last, last.utf8.count < 3, Int(last) != nil { words.removeLast() }
        return labels.contains(words.joined(separator: " "))
    }

    /// Returns the text without the blanks and marks of a ticker around it: `+++ Government resigns +++`.
    private static func trimmed(_ text: Substring) -> Substring {
        let isEdge = { (letter: Character) in letter.isWhitespace || letter == "+" || letter == "*" || letter == "/" }
        var text = text
        // A sign of a number is kept.
        while let first = text.first, isEdge(first), !(text.dropFirst().first?.isNumber ?? false) { text.removeFirst() }
        while let last = text.last, isEdge(last) { text.removeLast() }
        return text
    }
}
