import HTTPTypes
package import Hummingbird

/// Refuses requests that a browser makes for a page of another site, with the credentials that the browser remembers.
///
/// Browsers send the page's origin with every cross-site request that can change anything; apps send none.
///
/// Source: Fetch Standard, `Origin` header; RFC 6454 §7.
package struct RefuseCrossSite: RouterMiddleware {
    package init() {}

    package func handle(
        _ request: Request,
        context: BackendRequestContext,
        next: (Request, BackendRequestContext) async throws -> Response
    ) async throws -> Response {
        try Self.check(request, context)
        return try await next(request, context)
    }

    static func check(_ request: Request, _ context: BackendRequestContext) throws(BackendRefusal) {
        guard let origin = request.headers[.origin] else { return }
        let authority = context.calledAuthority(request)
        guard let authority, isOwn(origin, authority: authority) else {
            throw .forbidden("Requests from pages of other sites are refused.")
        }
    }

    /// True if `origin` matches the host and port that the request was sent to.
    package static func isOwn(_ origin: String, authority: String) -> Bool {
        let text = origin.lowercased()
        for (scheme, port) in [("https://", ":443"), ("http://", ":80")] where text.hasPrefix(scheme) {
            let own = authority.lowercased()
            return without(port, String(text.dropFirst(scheme.count))) == without(port, own)
        }
        return false
    }

    private static func without(_ port: String, _ authority: String) -> String {
        authority.hasSuffix(port) ? String(authority.dropLast(port.count)) : authority
    }
}
