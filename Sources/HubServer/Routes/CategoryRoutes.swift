import Formats
import Foundation
import HTTPTypes
import HubProtocol
import Hummingbird
import WebEdge

/// The categories that publishers announce: an extension that Azure does not have.
enum CategoryRoutes {
    /// Maximum size of a list of categories, in bytes.
    private static let maximumBody = 256 << 10
    /// Maximum number of categories of one publisher.
    private static let maximumCategories = 1_000

    static let routes = [
        Route(method: .put, path: "/categories/:publisher", right: .send) { request, _ in
            let publisher = try PublisherRoutes.name(request)
            let body = try await request.request.bytes(limit: maximumBody)
            guard let list = try? JSONReader.decode(CategoryList.self, from: body) else {
                throw ProtocolError.badRequest(#"The body must be a JSON object {"categories": ["…", …]}."#)
            }
            guard list.categories.count <= maximumCategories else {
                throw ProtocolError.badRequest("A publisher has at most \(maximumCategories) categories.")
            }
            for name in list.categories { _ = try Tag(name) }
            try await request.hub.setCategories(list.categories, publisher: publisher, bytes: body.count)
            return Response(status: .ok)
        },
        Route(method: .get, path: "/categories", right: .listen) { request, _ in
            let list = CategoryList(categories: try await request.hub.categories())
            return .json([UInt8](try JSONEncoder.sorted.encode(list)))
        },
    ]
}
