import Formats
import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import WebEdge

/// The feedback of push services about handles (protocol document §5.7).
///
/// Azure returns the address of a storage container whose query is a signature, and clients list the container with a
/// storage SDK, which sends no `Authorization`. The hub serves the listing itself: the query is a token, which is also
/// valid for the files. Programs without such an SDK can request JSON or Atom with `Accept`.
enum FeedbackRoutes {
    private static let container = "feedback"

    static let routes = [
        Route(method: .get, path: "/feedbackcontainer", right: .manage) { request in
            let address = request.signedAddress(container)
            return switch AcceptedForm(accept: request.request.headers[.accept]) {
            case .standard: Response(address)
            case .json: .json((["url": JSONText(address)] as JSONText).bytes)
            case .atom:
                Response(
                    ContainerListing.atomEntry(of: address, date: request.hub.configuration.now()),
                    ManagementEntry.contentType
                )
            }
        },
        Route(method: .get, path: "/\(container)", right: .manage, takesTokenInQuery: true) { request in
            let listing = ContainerListing(
                serviceEndpoint: "\(request.root)/",
                containerName: "\(request.hub.record.name)",
                files: try await FeedbackLookup(hub: request.hub).files()
            )
            return switch AcceptedForm(accept: request.request.headers[.accept]) {
            case .standard: Response(listing.xml, Response.xmlType)
            case .json: .json(listing.json(at: request.address(container)).bytes)
            case .atom:
                Response(
                    listing.atom(at: request.address(container), date: request.hub.configuration.now()),
                    ManagementFeed.contentType
                )
            }
        },
        Route(method: .get, path: "/\(container)/:file", right: .manage, takesTokenInQuery: true) { request in
            let name = try request.context.parameter("file")
            guard let file = FeedbackFileName(name),
                let text = try await FeedbackLookup(hub: request.hub).file(file)
            else {
                throw ProtocolError.notFound("There is no file '\(name.excerpt)' in the feedback container.")
            }
            return Response(text, ContainerListing.fileType)
        },
    ]
}
