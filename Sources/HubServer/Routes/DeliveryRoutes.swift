import Foundation
import HubProtocol
import Hummingbird
import WebEdge

/// The outcomes of messages: an extension that Azure does not have, whose telemetry is `GET /{hub}/messages/{id}`.
///
/// The responses contain the tags of devices, so the routes require Manage.
enum DeliveryRoutes {
    static let routes = [
        Route(method: .get, path: "/deliveries", right: .manage) { request in
            let count = try request.number("last", maximum: DeliveryLookup.maximumListed)
            let reports = try await request.operations.messages(try selection(request), count: count)
            return try .json(encoding: MessageReports(messages: reports))
        },
        Route(method: .get, path: "/deliveries/:id", right: .manage) { request in
            let id = try MessageID(try request.context.parameter("id"))
            let report = try await request.operations.report(on: id, device: request.query.literal("device"))
            return try .json(encoding: report)
        },
        Route(method: .get, path: "/deliveries/:id/failures", right: .manage) { request in
            let page = try await request.operations.failures(
                of: try MessageID(try request.context.parameter("id")),
                from: request.query.literal("from"),
                count: try request.number("last", maximum: FailedTargets.maximumListed)
            )
            return try .json(encoding: page)
        },
    ]

    /// The messages that the query selects: `state=scheduled` those that wait, `before` those before a position.
    private static func selection(_ request: HubRequest) throws(ProtocolError) -> MessageSelection {
        if let state = request.query["state"] {
            guard state.lowercased() == MessageState.scheduled.rawValue.lowercased() else {
                throw .badRequest("'state' must be 'scheduled', not '\(state.excerpt)'.")
            }
            return .scheduled
        }
        guard let text = request.query["before"] else { return .newest }
        guard let place = Int64(text), place > 0 else {
            throw .badRequest("'before' must be a position of the log, not '\(text.excerpt)'.")
        }
        return .before(LogSequence(rawValue: place))
    }
}
