import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import NIOCore
import NetworkAddresses
import WebEdge

/// An authorized request on a hub as a whole, or on the namespace.
struct NamespaceRequest: AllowedRequest {
    let hubs: HubManagement
    /// The hub that the path names, if it exists.
    let hub: Hub?
    /// The hub's name in the path; empty without one.
    let name: String
    let grant: Grant
    var request: Request
    let context: HubRequestContext
    let client: ClientAddress

    /// The request's query with its question mark, which is repeated in addresses of the reply.
    var suffix: String { query.text.isEmpty ? "" : "?\(AddressText.escaped(query.text))" }

    /// The name of the namespace: the first label of the host name, with which Azure's hosts begin as well.
    var namespace: String {
        let authority = "\(authority)"
        let host = authority.hasPrefix("[") ? authority : String(authority.prefix { $0 != ":" })
        let isNumeric = host.allSatisfy { $0 == "." || $0.isNumber } || host.hasPrefix("[")
        return isNumeric ? host : String(host.prefix { $0 != "." })
    }
}

/// Creates, changes, reads, deletes and lists hubs (protocol §8).
enum NamespaceRoutes {
    static let routes = [
        Route(method: .put, address: "/:hub", scope: .hub) { request in
            let isUpdate = ETagCondition(ifMatch: request.request.headers[.ifMatch]) != .none
            let body = try await request.request.bytes(limit: NotificationHubDescription.maximumBytes)
            if isUpdate {
                guard let hub = request.hub else { throw request.noHub }
                let stored = try await request.hubs.update(hub, NotificationHubChange(xml: body), bytes: body.count)
                return request.entry(of: stored, status: .ok)
            }
            let name = try HubName(pathSegment: request.name)
            let stored = try await request.hubs.create(name, NotificationHubChange(xml: body), bytes: body.count)
            var reply = request.entry(of: stored, status: .created)
            reply.headers[.publicEndpoint] = request.publicEndpoint
            return reply
        },
        Route(method: .get, address: "/:hub", scope: .hub) { request in
            guard let hub = request.hub, let stored = try await request.hubs.store.hub(id: hub.record.id) else {
                throw request.noHub
            }
            return request.entry(of: stored, status: .ok)
        },
        Route(method: .delete, address: "/:hub", scope: .namespace) { request in
            guard let hub = request.hub else { throw ProtocolError.noService }
            try await request.hubs.delete(hub)
            return Response(status: .ok)
        },
        Route(method: .get, address: "/$Resources/NotificationHubs", scope: .namespace) { request in
            let skip = try request.count("$skip") ?? 0
            let top = try request.count("$top") ?? HubManagement.maximumHubs
            let page = try await request.hubs.store.storedHubs().dropFirst(skip).prefix(top)
            let feed = ManagementFeed(
                title: "NotificationHubs",
                address: request.address.url,
                updatedAt: request.hubs.configuration.timestamp,
                entries: page.map { request.entry(of: $0, query: request.version) }
            )
            return Response(feed.xml, ManagementFeed.contentType)
        },
        Route(method: .get, address: "/", scope: .namespace) { request in
            let list = PublicServiceList(
                host: "\(request.authority)",
                hubs: request.hubs.directory.hubs.map(\.record.name),
                at: request.hubs.configuration.timestamp
            )
            return Response(list.xml, PublicServiceList.contentType)
        },
    ]
}

extension NamespaceRequest {
    fileprivate var noHub: ProtocolError { .noHub(pathSegment: name) }

    /// The requested API version, repeated in the entries of a list.
    fileprivate var version: String { query["api-version"].map { "?api-version=\($0)" } ?? "" }

    fileprivate func count(_ name: String) throws(ProtocolError) -> Int? {
        guard let text = query[name] else { return nil }
        guard let number = Int(text), number >= 0 else {
            throw .badRequest("'\(name)' must be a number of at least 0, not '\(text.excerpt)'.")
        }
        return number
    }

    /// The address at which other machines reach this server, whatever address the request came to.
    fileprivate var publicEndpoint: String {
        let port = context.channel?.localAddress?.port ?? hubs.configuration.port
        return "sb://\(hubs.configuration.publicAddress.authority(port: port))/"
    }

    fileprivate func entry(of hub: StoredHub, query: String) -> ManagementEntry {
        hub.description.entry(
            of: hub.record.name,
            root: root,
            query: query,
            namespace: namespace,
            createdAt: hub.createdAt,
            updatedAt: hub.updatedAt
        )
    }

    fileprivate func entry(of hub: StoredHub, status: HTTPResponse.Status) -> Response {
        Response(entry(of: hub, query: suffix).xml, ManagementEntry.contentType, status: status)
    }
}

extension HTTPField.Name {
    // The name is a constant of the protocol and a valid token.
    static let publicEndpoint = HTTPField.Name(HeaderName.publicEndpoint) ?? .location
}
