import HTTPTypes
package import Hummingbird
package import WebEdge

/// Lets requests of signed-in users pass, and sets their caller.
package struct RequireCaller: RouterMiddleware {
    private let signIn: SignIn
    private let proxyUsers: ProxyUsers?

    package init(_ signIn: SignIn, proxyUsers: ProxyUsers? = nil) {
        self.signIn = signIn
        self.proxyUsers = proxyUsers
    }

    package func handle(
        _ request: Request,
        context: WebContext<Caller>,
        next: (Request, WebContext<Caller>) async throws -> Response
    ) async throws -> Response {
        try SameOrigin.check(request, context)
        var context = context
        do {
            context.user =
                if let user = try proxyUsers?.user(request.headers, peer: context.client.peer) {
                    try await signIn.caller(of: user, context.client.network)
                } else {
                    try await signIn.caller(
                        authorization: request.headers[.authorization],
                        network: context.client.network
                    )
                }
        } catch let refusal as SignInRefusal {
            throw BackendRefusal(refusal)
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
