import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import Logging
import NIOCore
import NetworkAddresses

/// Who asked over which connection, beside what Hummingbird wants to know of a request.
struct HubRequestContext: RequestContext {
    private struct InternalSource: RequestContextSource {
        let logger: Logger
    }

    var coreContext: CoreRequestContextStorage
    /// `nil` for a call of this process on its own behalf.
    let channel: (any Channel)?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The context of a call of this process.
    init(logger: Logger, channel: (any Channel)? = nil) {
        coreContext = CoreRequestContextStorage(source: InternalSource(logger: logger))
        self.channel = channel
    }

    /// The other end of the connection.
    var peer: NetworkAddress? { channel?.remoteAddress?.networkAddress }
}

/// The addresses that a reply names: absolute, `https`, and where the client has called.
extension AllowedRequest {
    /// `https://{host}`.
    var root: String { "https://\(authority)" }

    var query: RequestQuery { RequestQuery(request.uri.query) }

    /// The address that the request was sent to, as it was written: one client finds an id by looking for its own
    /// address's text (protocol document §3.1).
    var address: RequestAddress {
        RequestAddress(origin: root, path: AddressText.escaped(request.uri.path), query: query.text)
    }

    var authority: Authority {
        client.authority(request.head, peer: context.peer)
    }
}

extension HubRequest {
    /// For how long an address opens what it leads to, in seconds: Azure's containers have a day.
    static let addressLifetime: Int64 = 86_400

    /// The address of something below the hub that opens it without a header: its query is a token of the caller's own key,
    /// for this address alone.
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

    /// The address of something below the hub, with the hub's name as it was given and the request's query.
    func address(_ path: String) -> RequestAddress {
        RequestAddress(origin: root, path: "/\(hub.record.name)/\(path)", query: query.text)
    }
}
