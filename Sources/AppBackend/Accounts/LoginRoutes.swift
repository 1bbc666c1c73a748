import Formats
import HTTPTypes
import HostSystem
import HubProtocol
import Hummingbird
import WebEdge

/// `POST /api/login` and `POST /api/logout`.
enum LoginRoutes {
    private static let maximumBody = 8_192
    /// The longest name of a device, in characters.
    static let maximumDevice = 100

    /// The body of a login request; all members are optional, and so is the body if the header has the password.
    private struct LoginRequest: Decodable {
        var user: String?
        var password: String?
        /// The user's name for the device, shown in lists of tokens.
        var device: String?
    }

    static let routes = [
        BackendRoute(.post, "/api/login", access: .anybody) { request in
            try await logIn(request.request, request.context, request.backend.signIn)
        },
        BackendRoute(.post, "/api/logout", access: .anybody) { request in
            try await logOut(request.request, request.context, request.backend.signIn)
        },
    ]

    static func logIn(
        _ request: Request,
        _ context: WebContext<Caller>,
        _ signIn: SignIn
    ) async throws -> Response {
        let body = try await loginRequest(request)
        let login: PasswordLogin
        var former: AccessToken?
        switch PresentedCredentials(header: request.headers[.authorization]) {
        case .password(let presented): login = presented
        case .unusable: throw SignInRefusal.wrongCredentials
        // A token is not a login, but shows that the device is known; the body may be one.
        case let credentials:
            if case .token(let token) = credentials { former = token }
            guard let user = body.user, let password = body.password else { throw SignInRefusal.noCredentials }
            guard let presented = PasswordLogin(name: user, password: password) else {
                throw SignInRefusal.wrongCredentials
            }
            login = presented
        }
        let issued = try await signIn.logIn(login, device: try device(body), context.client.network, former: former)
        return .json(["expires": JSONText(issued.expiresAt.wholeSecond), "token": JSONText(issued.token.text)])
    }

    static func logOut(
        _ request: Request,
        _ context: WebContext<Caller>,
        _ signIn: SignIn
    ) async throws -> Response {
        switch PresentedCredentials(header: request.headers[.authorization]) {
        case .token(let token): try await signIn.logOut(token, context.client.network)
        case .none: throw SignInRefusal.noCredentials
        case .password: throw BackendRefusal.badRequest("Only a token can be logged out.")
        // Only its provider can revoke it.
        case .foreignToken: throw SignInRefusal.wrongToken
        case .unusable: throw SignInRefusal.wrongCredentials
        }
        return Response(status: .ok)
    }

    private static func loginRequest(_ request: Request) async throws -> LoginRequest {
        let body = try await request.bytes(limit: maximumBody)
        guard !body.isEmpty else { return LoginRequest() }
        do {
            return try JSONReader.decode(LoginRequest.self, from: body)
        } catch {
            // Do not quote the body, which holds a password.
            throw BackendRefusal.badRequest(#"The body is not a JSON object with "user", "password" and "device"."#)
        }
    }

    private static func device(_ body: LoginRequest) throws(BackendRefusal) -> String? {
        let name = TerminalText.safe(body.device ?? "")
        guard name.count <= maximumDevice else {
            throw .badRequest("The name of the device is longer than \(maximumDevice) characters.")
        }
        return name.allSatisfy { $0 == " " } ? nil : name
    }
}
