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

    static let routes = [
        Route(method: .put, path: "/categories/:publisher", right: .send) { request in
            let publisher = try request.context.parameter("publisher")
            try await request.operations.setCategories(publisher: publisher) {
                let body = try await request.request.bytes(limit: maximumBody)
                guard let list = try? JSONReader.decode(CategoryList.self, from: body) else {
                    throw ProtocolError.badRequest(#"The body must be a JSON object {"categories": ["…", …]}."#)
                }
                return (list.categories, body.count)
            }
            return Response(status: .ok)
        },
        Route(method: .get, path: "/categories", right: .listen) { request in
            let list = CategoryList(categories: try await request.operations.categories())
            return try .json(encoding: list)
        },
    ]
}
