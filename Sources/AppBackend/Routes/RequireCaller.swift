import HTTPTypes
import Hummingbird
import WebEdge

/// Lets requests of signed-in users pass, and sets their caller.
struct RequireCaller: RouterMiddleware {
    let signIn: SignIn
    var proxyUsers: ProxyUsers?

    func handle(
        _ request: Request,
        context: WebContext<Caller>,
        next: (Request, WebContext<Caller>) async throws -> Response
    ) async throws -> Response {
        try SameOrigin.check(request, context)
        var context = context
        let network = context.client.network
        context.user =
            if let user = try proxyUsers?.user(request.headers, peer: context.client.peer) {
                try await signIn.caller(of: user, network)
            } else {
                try await signIn.caller(authorization: request.headers[.authorization], network: network)
            }
        return try await next(request, context)
    }
}

extension BackendRefusal {
    /// The time after which a refused password check is likely to be accepted.
    private static let checkingTime = Duration.seconds(5)
    /// The time until there may be room for another account: an operator has to act.
    private static let roomTime = Duration.seconds(3_600)

    init(_ refusal: SignInRefusal) {
        switch refusal {
        case .noCredentials: self = .unauthorized("Sign in with a name and password, or with a token.")
        case .wrongCredentials: self = .unauthorized("The name, the password or the token is not valid.")
        case .wrongToken: self = .unauthorized("The token is not valid or has expired; log in again.", isToken: true)
        case .tooManyAttempts(let wait):
            self = .tooManyRequests("Too many wrong passwords; try again later.", retryAfter: wait)
        case .overloaded:
            self = .unavailable("Too many passwords are being checked.", retryAfter: Self.checkingTime)
        case .removed: self = .forbidden("The user has been removed.")
        case .noRoom: self = .unavailable("No more users can be added now.", retryAfter: Self.roomTime)
        case .providerUnavailable:
            self = .unavailable("The identity provider cannot be reached now.", retryAfter: ProviderKeys.firstPause)
        }
    }
}
