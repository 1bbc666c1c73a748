import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import NIOCore

/// What push services say of handles (protocol document §5.7).
///
/// The service answers with the address of a storage container whose query is a signature, and clients list it with a
/// storage SDK, which sends no `Authorization`. Ours is a listing of our own, whose query is a token.
enum FeedbackRoutes {
    private static let container = "feedback"

    static let routes = [
        Route(method: .get, path: "/feedbackcontainer", right: .manage) { request, _ in
            Response(
                status: .ok,
                headers: [.contentType: "text/plain; charset=utf-8"],
                body: .init(byteBuffer: ByteBuffer(string: request.signedAddress(container)))
            )
        },
        // Nothing is written here until push services are delivered to.
        Route(method: .get, path: "/\(container)", right: .manage, takesTokenInQuery: true) { request, _ in
            let name = "\(request.hub.record.name)"
            return .xml(ContainerListing(serviceEndpoint: "\(request.root)/", containerName: name).xml)
        },
    ]
}
