import AppBackend
import HTTPTypes

/// Distinguishes requests of our own pages from those of other sites, which could have the reader's cookie.
///
/// Source: W3C Fetch Metadata Request Headers, `Sec-Fetch-Site`; for browsers without it, Fetch Standard, `Origin`.
enum SameOrigin {
    /// True if one of our own pages has sent the request; `authority` is the host and port that it was sent to.
    static func isOwn(_ headers: HTTPFields, authority: String?) -> Bool {
        if let site = headers[named: "Sec-Fetch-Site"] { return site == "same-origin" }
        guard let origin = headers[.origin], let authority else { return false }
        return RefuseCrossSite.isOwn(origin, authority: authority)
    }

    /// True if a script of another site's page has sent the request.
    ///
    /// Browsers send the cookie also with requests from other origins of the same site, such as another port of this
    /// host.
    static func isForeignFetch(_ headers: HTTPFields) -> Bool {
        guard let site = headers[named: "Sec-Fetch-Site"], site != "same-origin", site != "none" else { return false }
        return headers[named: "Sec-Fetch-Mode"] != "navigate"
    }
}
