import HTTPTypes
package import Hummingbird

/// Lets requests of signed-in users pass, and says who they are.
package struct RequireCaller: RouterMiddleware {
    private let signIn: SignIn

    package init(_ signIn: SignIn) { self.signIn = signIn }

    package func handle(
        _ request: Request,
        context: BackendRequestContext,
        next: (Request, BackendRequestContext) async throws -> Response
    ) async throws -> Response {
        try RefuseCrossSite.check(request, context)
        var context = context
        do {
            context.caller = try await signIn.caller(
                authorization: request.headers[.authorization],
                network: context.network
            )
        } catch let refusal as SignInRefusal {
            throw BackendRefusal(refusal)
        }
        return try await next(request, context)
    }
}

extension BackendRefusal {
    /// Seconds after which a password that could not be checked is likely to be.
    private static let checkingTime = Duration.seconds(5)

    init(_ refusal: SignInRefusal) {
        switch refusal {
        case .noCredentials: self = .unauthorized("Sign in with a name and password, or with a token.")
        case .wrongCredentials: self = .unauthorized("The name, the password or the token is not valid.")
        case .wrongToken: self = .unauthorized("The token is not valid or has expired; log in again.", isToken: true)
        case .tooManyAttempts(let wait):
            self = .tooManyRequests("Too many wrong passwords; try again later.", retryAfter: wait)
        case .overloaded:
            self = .unavailable("Too many passwords are being checked.", retryAfter: Self.checkingTime)
        }
    }
}
