import Foundation
import HTTPTypes
import HubProtocol
import Hummingbird
import WebEdge

/// The reports of publishers: an extension that Azure does not have.
enum PublisherRoutes {
    static let routes = [
        Route(method: .put, path: "/publishers/:publisher", right: .send) { request in
            let publisher = try request.context.parameter("publisher")
            try await request.operations.setReport(publisher: publisher) {
                let body = try await request.request.bytes(limit: PublisherReport.maximumBytes)
                return (try PublisherReport(json: body), body.count)
            }
            return Response(status: .ok)
        },
        Route(method: .get, path: "/publishers", right: .manage) { request in
            let list = PublisherList(publishers: try await request.operations.publishers())
            return try .json(encoding: list)
        },
        Route(method: .get, path: "/publishers/:publisher", right: .manage) { request in
            let status = try await request.operations.publisher(try request.context.parameter("publisher"))
            return try .json(encoding: status)
        },
        Route(method: .get, path: "/publishers/:publisher/requests", right: .send) { request in
            try .json(encoding: try await request.operations.requests(to: try request.context.parameter("publisher")))
        },
        Route(method: .post, path: "/publishers/:publisher/requests", right: .manage) { request in
            let asked = try await request.operations.ask(try request.context.parameter("publisher")) {
                let body = try await request.request.bytes(limit: PublisherRequest.maximumBytes)
                return (try PublisherRequest(json: body), body.count)
            }
            var response = try Response.json(encoding: asked)
            response.status = .created
            return response
        },
    ]
}
