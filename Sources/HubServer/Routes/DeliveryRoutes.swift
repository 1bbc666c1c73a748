import Foundation
import HubProtocol
import Hummingbird
import WebEdge

/// The outcomes of messages: an extension that Azure does not have, whose telemetry is `GET /{hub}/messages/{id}`.
///
/// The responses contain the tags of devices, so the routes require Manage.
enum DeliveryRoutes {
    static let defaultListed = 20

    static let routes = [
        Route(method: .get, path: "/deliveries", right: .manage) { request, hubs in
            let (lookup, count) = (request.lookup(hubs), try last(request))
            let reports: [MessageReport]
            if try isOfScheduled(request) {
                reports = try await lookup.scheduled(count)
            } else if let place = try place(request) {
                reports = try await lookup.sent(count, before: place)
            } else {
                reports = try await lookup.newest(count)
            }
            return .json([UInt8](try JSONEncoder.sorted.encode(MessageReports(messages: reports))))
        },
        Route(method: .get, path: "/deliveries/:id", right: .manage) { request, hubs in
            let device = try request.query.literal("device").map { try deviceName($0) }
            let id = try MessageID(try request.context.parameter("id"))
            let report = try await request.lookup(hubs).report(id, device: device)
            return .json([UInt8](try JSONEncoder.sorted.encode(report)))
        },
        Route(method: .get, path: "/deliveries/:id/failures", right: .manage) { request, _ in
            let id = try MessageID(try request.context.parameter("id"))
            let page = try await FailureLookup(hub: request.hub).page(
                id,
                from: request.query.literal("from"),
                limit: try last(request, default: FailedTargets.maximumListed, maximum: FailedTargets.maximumListed)
            )
            return .json([UInt8](try JSONEncoder.sorted.encode(page)))
        },
    ]

    /// An installation's id or a push handle.
    private static func deviceName(_ text: String) throws(ProtocolError) -> String {
        guard !text.isEmpty, text.utf8.count <= PushChannel.maximumLength, text.utf8.allSatisfy({ $0 > 0x20 }) else {
            throw .badRequest("'device' must be an installation's id or a push handle; neither contains a space.")
        }
        return text
    }

    /// True if `state=scheduled` limits the list to scheduled messages that are waiting.
    private static func isOfScheduled(_ request: HubRequest) throws(ProtocolError) -> Bool {
        guard let state = request.query["state"] else { return false }
        guard state.lowercased() == MessageState.scheduled.rawValue.lowercased() else {
            throw .badRequest("'state' must be 'scheduled', not '\(state.excerpt)'.")
        }
        return true
    }

    /// The position in the query `before`, which limits the list to earlier messages.
    private static func place(_ request: HubRequest) throws(ProtocolError) -> LogSequence? {
        guard let text = request.query["before"] else { return nil }
        guard let place = Int64(text), place > 0 else {
            throw .badRequest("'before' must be a position of the log, not '\(text.excerpt)'.")
        }
        return LogSequence(rawValue: place)
    }

    private static func last(
        _ request: HubRequest,
        default usual: Int = defaultListed,
        maximum: Int = DeliveryLookup.maximumListed
    ) throws(ProtocolError) -> Int {
        guard let text = request.query["last"] else { return usual }
        guard let last = Int(text), (1...maximum).contains(last) else {
            throw .badRequest("'last' must be a number from 1 to \(maximum), not '\(text.prefix(20))'.")
        }
        return last
    }
}

extension HubRequest {
    func lookup(_ hubs: HubDirectory) -> DeliveryLookup {
        DeliveryLookup(hub: hub, loops: hubs.loops(of: hub))
    }
}
