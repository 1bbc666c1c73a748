import HTTPTypes
package import Hummingbird

/// Omits the body of responses to HEAD: over HTTP/1.1 it would be read as the next response.
///
/// The hub's handler of bodies corrects the length, which depends on the version of HTTP.
///
/// Source: RFC 9110 §9.3.2.
package struct HeadMiddleware<Context: RequestContext>: RouterMiddleware {
    package init() {}

    package func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let response = try await next(request, context)
        return request.method == .head ? response.createHeadResponse() : response
    }
}
