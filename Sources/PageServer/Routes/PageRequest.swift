import AppBackend
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import NIOCore
import NetworkAddresses
import WebEdge
import WebPages

/// A request to the pages of a hub.
struct PageRequest: Sendable {
    /// The largest body of a form, in bytes; our own forms are smaller.
    static let maximumForm = 32_768

    let pages: PageServer
    let hub: LocalHub
    let request: Request
    let context: WebContext<Never>
    /// True if the request has the turn of its session: see ``changing(_:)``.
    var hasTurn = false

    var home: String { "/-/\(hub.name)/" }

    /// The one address of a page that was requested by another spelling, such as `/-/news` or `/-/NEWS/feeds`; `nil` for a
    /// page at its own address.
    ///
    /// A service worker controls only pages whose addresses begin with ``home``, character by character.
    var otherSpelling: String? {
        guard isRead else { return nil }
        let path = request.uri.path
        let rest = path.split(separator: "/").dropFirst(2).joined(separator: "/")
        let own = home + rest
        guard path != own, rest.isEmpty || path != "\(own)/" else { return nil }
        let query = request.uri.query.map { "?\($0)" } ?? ""
        return HTTPField.isValidValue(own + query) ? own + query : nil
    }

    var query: FormFields { FormFields(request.uri.query) }

    var now: Timestamp { pages.clock.now() }

    var frame: PageFrame { frame(in: words) }

    func frame(in words: PageWords) -> PageFrame {
        var frame = PageFrame(name: hub.name.text, home: home, appearance: appearance, words: words)
        frame.trust = authorityPath == nil ? nil : CertificateRoutes.address(home)
        return frame
    }

    var words: PageWords { request.words }

    var appearance: PageAppearance { pages.appearances[hub.name] ?? PageAppearance() }

    /// True if the hub's pages show pictures, and the server can fetch them.
    var showsImages: Bool { appearance.showsImages && pages.images != nil }

    /// The file of the authority that the reader's browser must trust; `nil` also behind a proxy, which has a
    /// certificate of its own.
    var authorityPath: String? {
        if let peer = context.client.peer, pages.proxies.contains(peer) { return nil }
        return pages.authorityPath
    }

    var cookie: SessionCookie {
        get async { SessionCookie(hub: hub.name, isPrivate: await context.client.isPrivate) }
    }

    /// True if the method changes nothing (RFC 9110 §9.2.1).
    var isRead: Bool { request.method == .get || request.method == .head }

    /// The secret of a session in a cookie; `nil` for a request by a script of another site that only reads.
    ///
    /// Requests that change something are checked by ``checkOrigin()``.
    func secret(of cookie: SessionCookie) -> SessionSecret? {
        let isForeign = isRead && SameOrigin.isForeignFetch(request.headers)
        return isForeign ? nil : cookie.secret(in: request.headers)
    }

    /// The reader; `nil` for a client that may read without a session.
    ///
    /// - Throws: 401 with a page that explains how to enter, if the client may not read.
    func admitted() async throws -> Visitor? {
        if let visitor = try await visitor { return visitor }
        guard hasOpenAccess else { throw PageRefusal.uninvited(frame(for: nil)) }
        return nil
    }

    /// Checks that one of our own pages sent the request.
    ///
    /// - Throws: 403 for a request from another site.
    func checkOrigin() throws {
        guard SameOrigin.isOwn(request.headers, authority: context.client.authority) else {
            throw refusal(.forbidden, .formForeign)
        }
    }

    /// Counts a search in the news.
    ///
    /// - Throws: 429.
    func admitSearch() throws {
        guard let wait = pages.searches.admit(context.client.network.description) else { return }
        throw refusal(.tooManyRequests, .manySearches, retryAfter: wait)
    }

    /// Counts a change of a session's installations, or the opening of its stream.
    ///
    /// - Throws: 429.
    func admitChange(of session: ReaderSession) throws {
        guard let wait = pages.changes.admit(session.id) else { return }
        throw refusal(.tooManyRequests, .manyChanges, retryAfter: wait)
    }

    /// A refusal in the frame of this hub's pages; `retryAfter` is `nil` if waiting does not help.
    func refusal(
        _ status: HTTPResponse.Status,
        _ notice: PageNotice,
        _ values: [String: String] = [:],
        retryAfter: Duration? = nil
    ) -> PageRefusal {
        PageRefusal(status, frame, notice, values, retryAfter: retryAfter.map { Int64($0.secondsToWait) })
    }

    /// Reads a form that one of our own pages has sent.
    ///
    /// - Throws: 403 for a form from another site, 413 for a body that is too large, 400 for one that is not UTF-8 in
    ///   valid percent-encoding, 400 or 408 for one that does not arrive completely.
    func form() async throws -> FormFields {
        try checkOrigin()
        let bytes: [UInt8]
        do {
            bytes = try await request.bytes(limit: Self.maximumForm)
        } catch is ProtocolError {
            throw refusal(.contentTooLarge, .formLarge)
        } catch let fault as RequestFault {
            throw refusal(HTTPResponse.Status(code: fault.refusal.status), .formIncomplete)
        }
        guard let form = FormFields(body: bytes) else { throw refusal(.badRequest, .formInvalid) }
        return form
    }

    func page(_ page: some WebPage, status: HTTPResponse.Status = .ok, cookie: String? = nil) -> Response {
        var response = PageHeaders.html(ByteBuffer(string: pages.templates.render(page)), status: status)
        response.headers[.setCookie] = cookie
        return response
    }

    /// The response to a reader without a session.
    func sharedPage(_ page: ReaderPage) -> Response {
        PageHeaders.html(pages.sharedPages.body(of: page, pages.templates))
    }

    /// Redirects to another address of the same page.
    func movedPermanently(_ address: String) -> Response { redirect(.permanentRedirect, to: address) }

    /// Redirects the browser after a form, so that a reload does not send the form again.
    func seeOther(_ path: String, cookie: String? = nil) -> Response { redirect(.seeOther, to: path, cookie) }

    private func redirect(_ status: HTTPResponse.Status, to address: String, _ cookie: String? = nil) -> Response {
        var headers = PageHeaders.common("text/plain; charset=utf-8")
        headers[.location] = address
        // Browsers would keep a permanent redirect, but a later hub may be spelled differently.
        headers[.cacheControl] = "no-store"
        headers[.setCookie] = cookie
        return Response(status: status, headers: headers)
    }
}
