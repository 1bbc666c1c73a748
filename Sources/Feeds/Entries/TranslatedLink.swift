/// The common part of the addresses of one story in several languages.
///
/// Publishers use the same address for all languages of a story, except for a language mark in it: `/en/` and `/fr/`,
/// `en.example.org` and `fr.example.org`, `?lang=en` and no parameter. Addresses are compared without these marks, so
/// the rule does not merge two addresses in one language.
///
/// A mark is a language tag: two letters of ISO 639-1, alone or with a region or script after `-` or `_` (`pt-br`,
/// `zh_Hans`). From the address, as ``EntryIdentity/link`` compares it, three kinds of mark are removed: the first
/// label of a host with at least three labels, the first segment of the path that is a mark, and each of ``parameters``
/// with a mark as its value.
enum TranslatedLink {
    /// Query parameters whose value may be a language tag.
    private static let parameters: Set<Substring> = ["lang", "language", "locale", "hl"]

    /// The two-letter codes of ISO 639-1.
    private static let codes = Set(
        """
        aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en \
        eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv \
        ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne \
        ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st \
        su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
        """.split(separator: " ")
    )

    /// The address without its marks; `nil` when the remainder names a whole site instead of a page.
    static func neutral(_ link: String) -> String? {
        guard let comparable = URLReference(link)?.comparable else { return nil }
        let end = comparable.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? comparable.endIndex
        var labels = comparable[..<end].split(separator: ".", omittingEmptySubsequences: false)
        if labels.count >= 3, isTag(labels[0]) { labels.removeFirst() }
        let fragment = comparable[end...].drop { $0 != "#" }
        let rest = comparable[end..<fragment.startIndex]
        var segments = rest.prefix { $0 != "?" }.split(separator: "/")
        if let mark = segments.firstIndex(where: isTag) { segments.remove(at: mark) }
        let kept = rest.drop { $0 != "?" }.dropFirst().split(separator: "&").filter { !isMark($0) }
        guard !segments.isEmpty || !kept.isEmpty || !fragment.isEmpty else { return nil }
        return labels.joined(separator: ".") + "/" + segments.joined(separator: "/") + "?"
            + kept.joined(separator: "&") + fragment
    }

    private static func isMark(_ parameter: Substring) -> Bool {
        let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 && parameters.contains(Substring(parts[0].lowercased())) && isTag(parts[1])
    }

    private static func isTag(_ text: Substring) -> Bool {
        let parts = text.lowercased().split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == "-" || $0 == "_" }
        guard let code = parts.first, codes.contains(code) else { return false }
        guard parts.count == 2 else { return true }
        // A region of ISO 3166 or a script of ISO 15924.
        return (parts[1].utf8.count == 2 || parts[1].utf8.count == 4) && parts[1].utf8.allSatisfy { 0x61...0x7A ~= $0 }
    }
}

extension EntryKey {
    /// Creates the key of a story's address in any language; `nil` when the text is not the address of a page.
    package init?(translatedLink link: String) {
        guard let neutral = TranslatedLink.neutral(link) else { return nil }
        self.init("translated link", neutral)
    }

    /// Creates the key of an identifier that a story has in all languages.
    package init(translatedID id: String) { self.init("translated id", id) }

    /// Creates the key for one of several languages.
    package init(_ key: EntryKey, in language: String) {
        self.init("in language", key.description, language.lowercased())
    }
}
