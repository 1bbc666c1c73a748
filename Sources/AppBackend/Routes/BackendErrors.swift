import HTTPTypes
import HubProtocol
import Hummingbird
import Logging
import SQLiteFiles
import WebEdge

/// Turns other errors into a ``BackendRefusal``; the details of the server's failures go to the log only.
struct BackendErrors: RouterMiddleware {
    /// A logger of our own, since a request's logger adds other keys.
    let logger: Logger
    let hubFailures: HubFailureLog

    func handle(
        _ request: Request,
        context: WebContext<Caller>,
        next: (Request, WebContext<Caller>) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let refusal as BackendRefusal {
            hubFailures.note(refusal)
            throw refusal
        } catch let refusal as SignInRefusal {
            throw BackendRefusal(refusal)
        } catch let error as ProtocolError {
            throw BackendRefusal(error)
        } catch let fault as RequestFault {
            throw BackendRefusal(fault.refusal)
        } catch let error as HTTPError where error.status == .notFound {
            throw BackendRefusal.notFound("There is nothing at this address for \(request.method.rawValue.excerpt).")
        } catch let error as HTTPError {
            throw BackendRefusal(error.status, error.status.reasonPhrase)
        } catch is CancellationError {
            throw BackendRefusal.unavailable("The server is stopping.", retryAfter: .seconds(2))
        } catch {
            logger.error(
                "a request failed",
                metadata: [
                    "http.route": "\(context.endpointPath ?? "")", "error.reason": "\(DatabaseFileError.reason(error))",
                ]
            )
            if DatabaseFileError(error, path: "")?.isTemporary == true {
                throw BackendRefusal.unavailable("The server cannot do this now.", retryAfter: .seconds(5))
            }
            throw BackendRefusal(.internalServerError, "The server failed; its log has the details.")
        }
    }
}
