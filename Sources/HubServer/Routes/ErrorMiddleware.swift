import HTTPTypes
import HubProtocol
import HubRouting
import Hummingbird
import Logging
import SQLiteFiles
import WebEdge

/// Turns all errors into the protocol's refusals.
///
/// An error that is not a refusal becomes a 500, whose tracking id is logged with the details.
struct RefusalReplies: Sendable {
    /// Not the request's logger, which adds metadata of its own.
    let logger: Logger

    func answer(_ request: Request, _ next: () async throws -> Response) async -> Response {
        let trackingID = request.headers[.trackingID].flatMap { ErrorReply.isTrackingID($0) ? $0 : nil }
        do {
            var response = try await next()
            if response.headers[.trackingID] == nil {
                response.headers.setTracking(trackingID)
            }
            return response
        } catch let refusal as ProtocolError {
            return ErrorReply(refusal, trackingID: trackingID).response
        } catch let fault as RequestFault {
            let reply = ErrorReply(fault.refusal, trackingID: trackingID)
            logger.debug(
                "a request did not arrive completely",
                metadata: ["tracking.id": "\(reply.trackingID)", "error.reason": "\(fault.refusal.detail)"]
            )
            return reply.response
        } catch is CancellationError {
            // Only a stop cancels requests.
            return ErrorReply(.stopping, trackingID: trackingID).response
        } catch let error as any HTTPResponseError {
            let refusal =
                error.status == .notFound
                ? ProtocolError.notFound("There is nothing at this address for \(request.method).")
                : ProtocolError(status: error.status.code, detail: error.status.reasonPhrase)
            return ErrorReply(refusal, trackingID: trackingID).response
        } catch {
            let reply = ErrorReply(.internalError("The hub failed; its log has the details."), trackingID: trackingID)
            // SQLite's messages have several lines and contain statements.
            let reason = DatabaseFileError.reason(error)
            logger.error(
                "a request failed",
                metadata: ["tracking.id": "\(reply.trackingID)", "error.reason": "\(reason)"]
            )
            return reply.response
        }
    }
}

/// ``RefusalReplies`` for the routes of a router.
struct ErrorMiddleware<Context: RequestContext>: RouterMiddleware {
    private let replies: RefusalReplies

    init(logger: Logger) { replies = RefusalReplies(logger: logger) }

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response { await replies.answer(request) { try await next(request, context) } }
}
