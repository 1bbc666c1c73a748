import AppBackend
import HTTPTypes
import HubProtocol
import Hummingbird
import Logging
import NIOCore
import SQLiteFiles
import WebEdge
import WebPages

/// Answers refused and failed requests with a page; the details of failures go to the log only.
struct PageErrors: RouterMiddleware {
    let logger: Logger
    let templates: PageTemplates

    func handle(
        _ request: Request,
        context: WebContext<Never>,
        next: (Request, WebContext<Never>) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            return response(to: error, of: context.endpointPath ?? "", in: request.words)
        }
    }

    /// The page for an error; `route` is the address of the route, for the log.
    func response(to error: any Error, of route: String, in words: PageWords) -> Response {
        response(refusal(for: error, of: route), in: words)
    }

    private func refusal(for error: any Error, of route: String) -> PageRefusal {
        switch error {
        case let refusal as PageRefusal: return refusal
        case let error as HTTPError where error.status == .notFound: return .notFound
        case let refusal as BackendRefusal:
            if refusal.status.kind == .serverError {
                logger.warning("a page was refused", metadata: ["error.reason": "\(refusal.reason)"])
            }
            return PageRefusal(refusal)
        case is CancellationError: return .stopping
        default:
            let failure = DatabaseFileError(error, path: "")
            logger.error(
                "a page could not be served",
                metadata: [
                    "http.route": "\(route)", "error.reason": "\(failure?.reason ?? "\(error)")",
                ]
            )
            return failure?.isTemporary == true || Self.isUnavailable(error) ? .unavailable : .failed
        }
    }

    /// True if the hub refuses with 503, for example because its disk is full.
    private static func isUnavailable(_ error: any Error) -> Bool {
        switch error {
        case HubError.refused(503, _, _, _): true
        case let error as ProtocolError: error.status == 503
        default: false
        }
    }

    private func response(_ refusal: PageRefusal, in words: PageWords) -> Response {
        let body = ByteBuffer(string: templates.render(refusal.page(in: words)))
        var response = PageHeaders.html(body, status: refusal.status)
        response.headers[.retryAfter] = refusal.retryAfter.map { "\($0)" }
        response.headers.append(contentsOf: refusal.fields)
        return response
    }
}

extension Request {
    /// The language that the browser prefers.
    var words: PageWords { PageWords.preferred(by: headers[.acceptLanguage]) }
}
