import AppBackend
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

/// The routes for signing in and out with accounts of the app backend.
enum SignInRoutes {
    /// The name of the device in lists of tokens.
    private static let device = "web page"
    /// The number of seconds after which a refused password check is likely to be accepted.
    private static let checkingTime = 5

    static let routes = [
        PageRoute(.get, "/sign-in") { request in
            _ = try await backend(request)
            let visitor = try await request.visitor
            guard visitor?.caller == nil else { return request.seeOther(request.home) }
            return request.page(SignInPage(frame: frame(request, visitor)))
        },
        PageRoute(.post, "/sign-in") { try await signIn($0) },
        PageRoute(.post, "/sign-out") { try await signOut($0) },
    ]

    private static func signIn(_ request: PageRequest) async throws -> Response {
        let form = try await request.form()
        let backend = try await backend(request)
        guard await request.context.client.isPrivate else {
            throw request.refusal(.forbidden, .signInNeedsHTTPS)
        }
        let name = form["user"] ?? ""
        do {
            let login = try await backend.logIn(
                name: name,
                password: form["password"] ?? "",
                device: device,
                isKnownDevice: try await isKnown(name, request),
                request.context.client
            )
            let secure = SecureMessageRoutes.id(form["secure"])
            return try await request.changing { request, visitor in
                try await signIn(login.caller.name, token: login.token, for: secure, visitor, request)
            }
        } catch let refusal as SignInRefusal {
            return try await refuse(refusal, name, SecureMessageRoutes.id(form["secure"]), request)
        }
    }

    /// Signs the visitor in, with the existing session or a new one.
    ///
    /// A crash can follow any step: a session whose user has no token is signed out at its next request.
    private static func signIn(
        _ user: UserName,
        token: String,
        for secure: Int64?,
        _ visitor: Visitor?,
        _ request: PageRequest
    ) async throws -> Response {
        let (store, registrar) = (request.pages.store, request.registrar)
        let session = try await ownSession(of: user, visitor, request)
        // Use a new secret: a third party who has seen the former cookie must not be signed in with it.
        let secret = SessionSecret.random()
        try await store.setUser(user, of: session)
        do {
            try await registrar.register(session, as: user, request.context.client)
            let sealed = try TokenSeal.seal(token, with: secret)
            try await store.setSignedIn(session, as: user, token: sealed, renewed: secret)
        } catch {
            // Nobody has the token.
            try? await request.backend?.logOut(token: token, request.context.client)
            throw error
        }
        let next = secure.map { "\(request.home)secure/\($0)" } ?? request.home
        // A session of its own begins where nothing is read.
        let position = session.id == visitor?.session.id ? session.position : nil
        return request.seeOther(next, cookie: await request.cookie.setting(secret, at: position))
    }

    /// The visitor's session, without its former user.
    private static func ownSession(
        of user: UserName,
        _ visitor: Visitor?,
        _ request: PageRequest
    ) async throws -> ReaderSession {
        if let visitor {
            guard let caller = visitor.caller else { return visitor.session }
            try await request.revokeToken()
            if caller.name == user { return visitor.session }
            if let left = try await request.leave(visitor.session) { return left.session }
        }
        let choice = ReaderChoice(categories: [])
        return try await EntryRoutes.begin(choice, isInvited: false, user: user, request).session
    }

    /// True if a user was the last one to sign in on the visitor's browser.
    private static func isKnown(_ name: String, _ request: PageRequest) async throws -> Bool {
        guard let user = UserName(name), let former = try await request.storedSession?.formerUser else { return false }
        return former == user
    }

    private static func refuse(
        _ refusal: SignInRefusal,
        _ name: String,
        _ secure: Int64?,
        _ request: PageRequest
    ) async throws -> Response {
        var page = SignInPage(frame: frame(request, try await request.visitor), user: String(name.prefix(64)))
        page.secure = secure.map { "\($0)" }
        let status: HTTPResponse.Status
        var wait: Int64?
        let words = request.words
        switch refusal {
        case .tooManyAttempts(let time):
            status = .tooManyRequests
            wait = max(1, time.components.seconds + 1)
            page.refusal = words.text(.passwordsOften, ["time": words.time(seconds: wait ?? 1)])
        case .overloaded, .providerUnavailable, .noRoom:
            status = .serviceUnavailable
            wait = Int64(checkingTime)
            page.refusal = words[.passwordsBusy]
        case .noCredentials, .wrongCredentials, .wrongToken, .removed:
            status = .unauthorized
            page.refusal = words[.passwordWrong]
        }
        var response = request.page(page, status: status)
        response.headers[.retryAfter] = wait.map { "\($0)" }
        return response
    }

    private static func signOut(_ request: PageRequest) async throws -> Response {
        _ = try await request.form()
        guard let visitor = try await request.visitor, visitor.caller != nil else {
            return request.seeOther(request.home)
        }
        // Revoke first, so that it takes effect even if the hub does not answer.
        try await request.revokeToken()
        // Without its token the session's user leaves it.
        let left = try await request.changing { $1 }
        return request.seeOther(request.home, cookie: left == nil ? await request.cookie.clearing : nil)
    }

    private static func backend(_ request: PageRequest) async throws -> AppBackend {
        guard let backend = try await request.backend else { throw PageRefusal.notFound }
        return backend
    }

    /// The frame without the link to this page.
    static func frame(_ request: PageRequest, _ visitor: Visitor?) -> PageFrame {
        var frame = request.frame(for: visitor)
        frame.signIn = nil
        return frame
    }
}

extension PageRequest {
    func revokeToken() async throws {
        guard let secret = await cookie.secret(in: request.headers),
            let session = try await pages.store.session(secret, hub: hub.name, at: now),
            let token = session.sealedToken.flatMap({ TokenSeal.open($0, with: secret) })
        else { return }
        try await backend?.logOut(token: token, context.client)
    }
}

extension PageWords {
    /// A waiting time for people.
    fileprivate func time(seconds: Int64) -> String {
        if seconds < 60 { return seconds == 1 ? self[.timeSecond] : text(.timeSeconds, ["count": "\(seconds)"]) }
        let minutes = (seconds + 59) / 60
        return minutes == 1 ? self[.timeMinute] : text(.timeMinutes, ["count": "\(minutes)"])
    }
}
