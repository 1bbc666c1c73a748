import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import Logging
import NIOCore
import NetworkAddresses
import WebEdge

/// The connection of a request, in addition to the context that Hummingbird requires.
struct HubRequestContext: RequestContext {
    private struct InternalSource: RequestContextSource {
        let logger: Logger
    }

    var coreContext: CoreRequestContextStorage
    /// `nil` if another node has the connection.
    let channel: (any Channel)?
    /// True if another node has passed the request on.
    let isForwarded: Bool
    /// The remote address of the client's connection to that node.
    private let forwardedPeer: NetworkAddress?
    /// Set if the request has Manage; `nil` for most requests, of which nobody needs to know.
    var manage: ManageNote?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        (isForwarded, forwardedPeer) = (false, nil)
    }

    /// The context of a request that another node has passed on.
    init(logger: Logger, forwardedFrom peer: NetworkAddress?) {
        coreContext = CoreRequestContextStorage(source: InternalSource(logger: logger))
        channel = nil
        (isForwarded, forwardedPeer) = (true, peer)
    }

    /// The address of this machine to which the client's connection leads; `nil` if another node has it.
    var local: NetworkAddress? { channel?.localAddress?.networkAddress }

    /// The remote address of the client's connection.
    var peer: NetworkAddress? { isForwarded ? forwardedPeer : channel?.clientAddress }
}

/// The addresses in a reply: absolute, with `https` and the authority that the client has used.
extension AllowedRequest {
    /// `https://{host}`.
    var root: String { "https://\(authority)" }

    var query: FormFields { FormFields(request.uri.query, ignoresCase: true) }

    /// The address that the request was sent to, as received: one client finds an id by searching for its own address's
    /// text (protocol document §3.1).
    var address: RequestAddress {
        let (path, query) = (AddressText.escaped(request.uri.path), AddressText.escaped(query.text))
        return RequestAddress(origin: root, path: path, query: query)
    }

    var authority: Authority {
        client.authority(request.head, peer: context.peer, local: context.local)
    }
}

extension HubRequest {
    /// Lifetime of a signed address in seconds; Azure's containers use a day.
    static let addressLifetime: Int64 = 86_400

    /// The address of a resource below the hub that can be read without a header: its query is a token signed with the
    /// caller's own key, for this address only.
    func signedAddress(_ path: String) -> String {
        let address = "\(root)/\(hub.record.name)/\(path)"
        let token = SharedAccessToken.sign(
            resource: address,
            keyName: grant.credential.rule,
            key: grant.credential.key,
            expiresAt: hub.configuration.timestamp.seconds + Self.addressLifetime
        )
        return "\(address)?\(token.drop { $0 != " " }.dropFirst())"
    }

    /// The address of a resource below the hub, with the hub's original name and the request's query.
    func address(_ path: String) -> RequestAddress {
        RequestAddress(origin: root, path: "/\(hub.record.name)/\(path)", query: AddressText.escaped(query.text))
    }
}
