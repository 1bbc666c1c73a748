internal import Formats

/// Parts of addresses that name a visit or a campaign instead of a page.
///
/// Only names that are hardly ever used for anything else are here: a parameter that is left out by mistake makes one
/// story of two.
enum LinkNoise {
    /// True for a parameter of a query, such as `utm_source=rss`.
    static func isNoise(_ parameter: Substring) -> Bool {
        let name = name(of: parameter)
        return names.contains(name) || beginnings.contains { name.hasPrefix($0) } || isSession(parameter, name)
    }

    /// Returns a path without a session, as in `/news;jsessionid=5F`.
    static func withoutSession(_ path: String) -> String {
        guard path.utf8.contains(0x3B) else { return path }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            guard let first = segment.firstIndex(of: ";") else { return String(segment) }
            let parameters = segment[first...].split(separator: ";").filter { !isSession($0, name(of: $0)) }
            return segment[..<first] + parameters.map { ";\($0)" }.joined()
        }
        return segments.joined(separator: "/")
    }

    private static func name(of parameter: Substring) -> String { parameter.prefix { $0 != "=" }.lowercased() }

    private static func isSession(_ parameter: Substring, _ name: String) -> Bool {
        if sessions.contains(name) { return true }
        guard ambiguousSessions.contains(name) else { return false }
        // Elsewhere these name a story, or a talk at a conference.
        let value = parameter.dropFirst(name.count + 1)
        return value.utf8.count >= shortestToken
            && value.hasOnlyLettersAndDigits()
            && value.contains(where: \.isNumber) && value.contains(where: \.isLetter)
    }

    /// Number of letters and digits from which a value is taken for a random token.
    private static let shortestToken = 20

    /// Names of sessions in Java, PHP, ColdFusion and shops.
    private static let sessions: Set = ["jsessionid", "phpsessid", "cfid", "cftoken", "zenid", "oscsid"]
    private static let ambiguousSessions: Set = ["sid", "sessionid", "session_id"]

    /// Campaigns and clicks.
    private static let names: Set = [
        "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid", "ttclid", "li_fat_id",
        "igshid", "igsh", "mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "vero_id", "oly_anon_id", "oly_enc_id",
        "wt_mc", "wt.mc_id", "wickedid", "__twitter_impression", "guccounter", "guce_referrer", "guce_referrer_sig",
        "xtor", "ns_mchannel", "ns_source", "ns_campaign", "ns_linkname", "ns_fee", "at_medium", "at_campaign",
        "cmpid", "_ga", "_gl", "pk_campaign", "pk_kwd", "pk_source", "pk_medium",
    ]

    private static let beginnings = ["utm_", "aspsessionid", "mtm_", "piwik_"]
}
