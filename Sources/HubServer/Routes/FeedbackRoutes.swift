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
/// storage SDK, which sends no `Authorization`. Ours is a listing of our own, whose query is a token; the files below it take
/// the same one.
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
        Route(method: .get, path: "/\(container)", right: .manage, takesTokenInQuery: true) { request, _ in
            let listing = ContainerListing(
                serviceEndpoint: "\(request.root)/",
                containerName: "\(request.hub.record.name)",
                files: try await FeedbackInquiry(hub: request.hub).files()
            )
            return .xml(listing.xml)
        },
        Route(method: .get, path: "/\(container)/:file", right: .manage, takesTokenInQuery: true) { request, _ in
            let name = try request.parameter("file")
            guard let file = FeedbackFileName(name),
                let text = try await FeedbackInquiry(hub: request.hub).file(file)
            else {
                throw ProtocolError.notFound("There is no file '\(name.excerpt)' in the feedback container.")
            }
            return Response(
                status: .ok,
                headers: [.contentType: Response.blobType],
                body: .init(byteBuffer: ByteBuffer(string: text))
            )
        },
    ]
}
