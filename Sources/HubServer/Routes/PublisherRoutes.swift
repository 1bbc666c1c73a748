import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import WebEdge

/// The reports of publishers: an extension that Azure does not have.
enum PublisherRoutes {
    /// Maximum number of characters in a publisher's name.
    private static let maximumName = 120

    static let routes = [
        Route(method: .put, path: "/publishers/:publisher", right: .send) { request, _ in
            let publisher = try name(request)
            let body = try await request.request.bytes(limit: PublisherReport.maximumBytes)
            let report = try PublisherReport(json: body)
            try await request.hub.setReport(report, publisher: publisher, bytes: body.count)
            return Response(status: .ok)
        },
        Route(method: .get, path: "/publishers", right: .manage) { request, _ in
            let list = PublisherList(publishers: try await request.hub.publishers())
            return .json([UInt8](try JSONEncoder.sorted.encode(list)))
        },
        Route(method: .get, path: "/publishers/:publisher", right: .manage) { request, _ in
            let publisher = try name(request)
            guard let status = try await request.hub.report(of: publisher) else {
                throw ProtocolError.notFound("No publisher of this name has reported in the last 7 days.")
            }
            return .json([UInt8](try JSONEncoder.sorted.encode(status)))
        },
    ]

    /// The publisher that a request's path names.
    static func name(_ request: HubRequest) throws(ProtocolError) -> String {
        let publisher = try request.context.parameter("publisher")
        guard (1...maximumName).contains(publisher.unicodeScalars.count),
            // SQLite would end the name at a NUL, and take it for another publisher's name.
            publisher.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else {
            throw .badRequest(
                "A publisher's name has 1 to \(maximumName) characters, none of them a control character."
            )
        }
        return publisher
    }
}

extension Hub {
    fileprivate func setReport(_ report: PublisherReport, publisher: String, bytes: Int) async throws {
        let (hub, at) = (record.id, configuration.timestamp)
        try await perform(bytes: bytes) { transaction, _ in
            try transaction.setReport(report, publisher: publisher, hub: hub, at: at)
            return ((), [.report])
        }
    }

    /// The publishers whose report has not expired.
    fileprivate func publishers() async throws -> [PublisherSummary] {
        try await store.publishers(hub: record.id, since: configuration.timestamp - PublisherReport.lifetime)
    }

    fileprivate func report(of publisher: String) async throws -> PublisherStatus? {
        try await store.report(
            hub: record.id,
            publisher: publisher,
            since: configuration.timestamp - PublisherReport.lifetime
        )
    }
}
