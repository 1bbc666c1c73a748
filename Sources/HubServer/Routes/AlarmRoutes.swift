import Foundation
import HubProtocol
import HubStore
import Hummingbird
import Signals
import WebEdge

/// A hub's alarms, for operators: an extension that Azure does not have.
enum AlarmRoutes {
    static let routes = [
        Route(method: .get, path: "/alarms", right: .manage) { request, _ in
            let (hub, configuration) = (request.hub, request.hub.configuration)
            if hub.store.node != nil { try await hub.alarms.turns.pass { try await hub.followAlarms() } }
            var list = hub.alarms.record.list(at: configuration.timestamp)
            list.tag = configuration.alarmTag?.text
            return .json([UInt8](try JSONEncoder.sorted.encode(list)))
        },
        Route(method: .put, path: "/alarms/:id/silence", right: .manage) { request, _ in
            let body = try await request.request.bytes(limit: AlarmSilence.maximumBytes)
            let end = try AlarmSilence.end(json: body, now: request.hub.configuration.timestamp)
            try await request.hub.silence(alarm: try request.context.parameter("id"), until: end)
            return Response(status: .ok)
        },
        Route(method: .delete, path: "/alarms/:id/silence", right: .manage) { request, _ in
            try await request.hub.endSilence(alarm: try request.context.parameter("id"))
            return Response(status: .ok)
        },
    ]
}
