import Foundation
import HubProtocol
import Hummingbird

/// What became of messages: ours, absent in Azure, whose telemetry is `GET /{hub}/messages/{id}`.
///
/// The answers tell the tags of devices, so they need Manage.
enum DeliveryRoutes {
    static let defaultListed = 20

    static let routes = [
        Route(method: .get, path: "/deliveries", right: .manage) { request, hubs in
            let reports = try await request.inquiry(hubs).newest(try last(request))
            return .json([UInt8](try JSONEncoder.sorted.encode(MessageReports(messages: reports))))
        },
        Route(method: .get, path: "/deliveries/:id", right: .manage) { request, hubs in
            let device = try request.query["device"].map { try InstallationID($0) }
            let id = try MessageID(try request.parameter("id"))
            let report = try await request.inquiry(hubs).report(id, device: device)
            return .json([UInt8](try JSONEncoder.sorted.encode(report)))
        },
    ]

    private static func last(_ request: HubRequest) throws(ProtocolError) -> Int {
        guard let text = request.query["last"] else { return defaultListed }
        let allowed = 1...DeliveryInquiry.maximumListed
        guard let last = Int(text), allowed.contains(last) else {
            throw .badRequest(
                "'last' must be a number from 1 to \(DeliveryInquiry.maximumListed), not '\(text.prefix(20))'."
            )
        }
        return last
    }
}

extension HubRequest {
    fileprivate func inquiry(_ hubs: HubDirectory) -> DeliveryInquiry {
        DeliveryInquiry(hub: hub, loops: hubs.loops(of: hub))
    }
}
