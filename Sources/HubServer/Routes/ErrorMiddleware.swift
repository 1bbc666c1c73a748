import HTTPTypes
import HostSystem
import HubProtocol
import HubRouting
import Hummingbird
import Logging

/// Turns errors into the protocol's refusals, the one place where that is done.
///
/// What is not a refusal of ours becomes a 500 whose tracking id stands beside the details in the log.
struct ErrorMiddleware<Context: RequestContext>: RouterMiddleware {
    /// Not the request's own, which adds keys that are not ours.
    let logger: Logger

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let trackingID = request.headers[.trackingID].flatMap { ErrorReply.isTrackingID($0) ? $0 : nil }
        do {
            var response = try await next(request, context)
            if response.headers[.trackingID] == nil {
                response.headers.setTracking(trackingID)
            }
            return response
        } catch let refusal as ProtocolError {
            return ErrorReply(refusal, trackingID: trackingID).response
        } catch let fault as RequestFault {
            let reply = ErrorReply(fault.refusal, trackingID: trackingID)
            logger.debug(
                "a request did not come whole",
                metadata: ["tracking.id": "\(reply.trackingID)", "error.reason": "\(fault.refusal.detail)"]
            )
            return reply.response
        } catch is CancellationError {
            // Only a stop breaks requests off.
            return ErrorReply(.stopping, trackingID: trackingID).response
        } catch let error as any HTTPResponseError {
            let refusal =
                error.status == .notFound
                ? ProtocolError.notFound("There is nothing at this address for \(request.method).")
                : ProtocolError(status: error.status.code, detail: error.status.reasonPhrase)
            return ErrorReply(refusal, trackingID: trackingID).response
        } catch {
            let reply = ErrorReply(.internalError("The hub failed; its log has the details."), trackingID: trackingID)
            // SQLite's words span lines and hold statements.
            let reason = HubDatabase.trouble(error)?.reason ?? TerminalText.safe("\(error)")
            logger.error(
                "a request failed",
                metadata: ["tracking.id": "\(reply.trackingID)", "error.reason": "\(reason)"]
            )
            return reply.response
        }
    }
}
