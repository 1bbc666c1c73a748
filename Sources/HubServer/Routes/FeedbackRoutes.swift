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
    /// How long the address is good, in seconds.
    static let lifetime: Int64 = 3_600
    private static let container = "feedback"

    static let routes = [
        Route(method: .get, path: "/feedbackcontainer", right: .manage) { request, _ in
            let address = "\(request.root)/\(request.hub.record.name)/\(container)"
            let credential = request.grant.credential
            let token = SharedAccessToken.sign(
                resource: address,
                keyName: credential.rule,
                key: credential.key,
                expiresAt: request.hub.configuration.timestamp.seconds + lifetime
            )
            let query = token.drop { $0 != " " }.dropFirst()
            return Response(
                status: .ok,
                headers: [.contentType: "text/plain; charset=utf-8"],
                body: .init(byteBuffer: ByteBuffer(string: "\(address)?\(query)"))
            )
        },
        // Nothing is written here until push services are delivered to.
        Route(method: .get, path: "/\(container)", right: .manage, takesTokenInQuery: true) { request, _ in
            let name = "\(request.hub.record.name)"
            return .xml(ContainerListing(serviceEndpoint: "\(request.root)/", containerName: name).xml)
        },
    ]
}
