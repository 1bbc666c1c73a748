package import WebEdge

/// A request's client and signed-in user.
///
/// Routes of the app backend are added to a `Router` of this context, after these middlewares in this order:
///
/// - `IdentifyClient`, the first, sets the client's address to the one that trusted proxies report.
/// - ``RequireCaller``, on the group of routes that need a signed-in user, sets the user, or answers 401, 403
///   (another site's `Origin`), 429 or 503. A route in this group calls ``signedIn()``, and names the client's network
///   in audit events. ``LoginRoutes`` are not in this group.
///
/// A route throws ``BackendRefusal`` or a `ProtocolError` to refuse a request; ``BackendErrors`` and Hummingbird turn
/// it into the response. Other errors are failures of the server.
extension WebContext<Caller> {
    /// The user who makes the request.
    ///
    /// - Throws: 401 for a route without ``RequireCaller``.
    package func signedIn() throws(BackendRefusal) -> Caller {
        guard let user else { throw .unauthorized("The request has no credentials.") }
        return user
    }
}
