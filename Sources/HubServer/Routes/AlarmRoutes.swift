import Foundation
import HubProtocol
import Hummingbird
import WebEdge

/// A hub's alarms, for operators: an extension that Azure does not have.
enum AlarmRoutes {
    static let routes = [
        Route(method: .get, path: "/alarms", right: .manage) { request in
            try .json(encoding: try await request.operations.alarms())
        },
        Route(method: .put, path: "/alarms/:id/silence", right: .manage) { request in
            let body = try await request.request.bytes(limit: AlarmSilence.maximumBytes)
            let end = try AlarmSilence.end(json: body, now: request.hub.configuration.timestamp)
            try await request.operations.silence(alarm: try request.context.parameter("id"), until: end)
            return Response(status: .ok)
        },
        Route(method: .delete, path: "/alarms/:id/silence", right: .manage) { request in
            try await request.operations.endSilence(alarm: try request.context.parameter("id"))
            return Response(status: .ok)
        },
    ]
}
