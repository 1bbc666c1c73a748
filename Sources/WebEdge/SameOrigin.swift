package import HTTPTypes
package import HubProtocol
package import Hummingbird
import NetworkAddresses

/// Distinguishes requests of our own pages from those of other sites, which could have credentials that the browser
/// remembers.
///
/// Source: Fetch Standard, `Origin` header; RFC 6454 §7; W3C Fetch Metadata Request Headers, `Sec-Fetch-Site`.
package enum SameOrigin {
    /// Refuses requests that a browser makes for a page of another site.
    ///
    /// Browsers send the page's origin with every cross-site request that can change anything; apps send none.
    package static func check<User: Sendable>(_ request: Request, _ context: WebContext<User>) throws(ProtocolError) {
        guard let origin = request.headers[.origin] else { return }
        guard let authority = context.client.authority, isOwn(origin, authority: authority) else {
            throw .forbidden("Requests from pages of other sites are refused.")
        }
    }

    /// True if one of our own pages has sent the request; `authority` is the host and port that it was sent to.
    package static func isOwn(_ headers: HTTPFields, authority: String?) -> Bool {
        if let site = headers[named: "Sec-Fetch-Site"] { return site == "same-origin" }
        guard let origin = headers[.origin], let authority else { return false }
        return isOwn(origin, authority: authority)
    }

    /// True if a script of another site's page has sent the request.
    ///
    /// Browsers send the cookie also with requests from other origins of the same site, such as another port of this
    /// host.
    package static func isForeignFetch(_ headers: HTTPFields) -> Bool {
        guard let site = headers[named: "Sec-Fetch-Site"], site != "same-origin", site != "none" else { return false }
        return headers[named: "Sec-Fetch-Mode"] != "navigate"
    }

    /// True if `origin` matches the host and port that the request was sent to.
    static func isOwn(_ origin: String, authority: String) -> Bool {
        guard let parts = URLParts(origin.lowercased()), let scheme = parts.webScheme, parts.rest.isEmpty else {
            return false
        }
        return scheme.withoutPort(parts.authority) == scheme.withoutPort(authority.lowercased())
    }
}

/// Refuses requests that a browser makes for a page of another site.
package struct RefuseCrossSite<User: Sendable>: RouterMiddleware {
    package init() {}

    package func handle(
        _ request: Request,
        context: WebContext<User>,
        next: (Request, WebContext<User>) async throws -> Response
    ) async throws -> Response {
        try SameOrigin.check(request, context)
        return try await next(request, context)
    }
}
