import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import WebEdge

/// Exports and imports of registrations (protocol document §8.1).
///
/// They are management operations: jobs of a disabled hub continue.
enum JobRoutes {
    static let routes = [
        // The files to import are at this node.
        Route(method: .post, address: "/:hub/jobs", scope: .hub, staysHere: true) { request in
            let hub = try request.presentHub
            let body = try await request.request.bytes(limit: NotificationHubJob.maximumBytes)
            let job = try await request.hubs.jobs.submit(.init(xml: body), to: hub, bytes: body.count)
            let entry = job.job.entry(of: "\(request.root)/\(hub.record.name)", query: request.suffix)
            var response = Response(entry.xml, ManagementEntry.contentType, status: .created)
            response.headers[.location] = request.address.item(job.job.id)
            return response
        },
        Route(method: .get, address: "/:hub/jobs", scope: .hub) { request in
            let hub = try request.presentHub
            let jobs = try await request.hubs.store.jobs(hub: hub.record.id, limit: JobService.maximumKept)
            let feed = ManagementFeed(
                title: "jobs",
                address: request.address.url,
                updatedAt: request.hubs.configuration.timestamp,
                entries: jobs.map { $0.job.entry(of: "\(request.root)/\(hub.record.name)", query: request.suffix) }
            )
            return Response(feed.xml, ManagementFeed.contentType)
        },
        Route(method: .get, address: "/:hub/jobs/:id", scope: .hub) { request in
            let hub = try request.presentHub
            let id = try request.context.parameter("id")
            guard let job = try await request.hubs.store.job(hub: hub.record.id, id: id) else {
                throw ProtocolError.notFound("There is no job '\(id.excerpt)' of this hub.")
            }
            let entry = job.job.entry(of: "\(request.root)/\(hub.record.name)", query: request.suffix)
            var response = Response(entry.xml, ManagementEntry.contentType)
            response.headers[.contentLocation] = request.address.url
            return response
        },
    ]
}

extension NamespaceRequest {
    fileprivate var presentHub: Hub {
        get throws(ProtocolError) {
            guard let hub else { throw .noHub(pathSegment: name) }
            return hub
        }
    }
}
