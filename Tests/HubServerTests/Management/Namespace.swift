import Foundation
import HubProtocol
import HubRouting
import HubStore

@testable import HubServer

/// A hub among others of a server, as its clients see it.
struct NamedHub: Sendable {
    let name: String
    let listen: AccessRule
    let full: AccessRule
}

extension TestHub {
    /// The namespace's rule.
    var root: AccessRule {
        service.directory.namespaceRules.first { $0.name == AccessRule.rootName }
            ?? .generated(name: "none", rights: [])
    }

    /// Sends a request with a token for the whole namespace, or for `resource`.
    func manage(
        _ method: String,
        _ path: String,
        as rule: AccessRule? = nil,
        resource: String = "http://h/",
        headers: [String: String] = [:],
        _ body: String = ""
    ) async throws -> Reply {
        let token = token(rule ?? root, resource: resource)
        return try await send(method, path, as: nil, headers: headers.merging(["Authorization": token]) { $1 }, body)
    }

    static func entry(_ inner: String = "") -> String {
        """
        <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><NotificationHubDescription \
        xmlns:i="http://www.w3.org/2001/XMLSchema-instance" \
        xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">\(inner)</NotificationHubDescription>\
        </content></entry>
        """
    }

    static func rule(_ name: String, _ rights: [String], primary: String = "", secondary: String = "") -> String {
        """
        <AuthorizationRule i:type="SharedAccessAuthorizationRule"><KeyName>\(name)</KeyName>\
        <Rights>\(rights.map { "<AccessRights>\($0)</AccessRights>" }.joined())</Rights>\
        <PrimaryKey>\(primary)</PrimaryKey><SecondaryKey>\(secondary)</SecondaryKey></AuthorizationRule>
        """
    }

    /// Makes a hub as an operator does.
    func make(_ name: String, _ inner: String = "") async throws -> NamedHub {
        let reply = try await manage("PUT", "/\(name)?api-version=2017-04", Self.entry(inner))
        guard reply.status == 201 else { throw Unanswered(request: "PUT /\(name)", bytes: reply.body) }
        let rules = try service.directory.hub(named: name).status.rules.hub
        func rule(_ name: String) throws -> AccessRule {
            guard let rule = rules.first(where: { $0.name == name }) else { throw Stopped() }
            return rule
        }
        return NamedHub(
            name: name,
            listen: try rule(AccessRule.defaultListenName),
            full: try rule(AccessRule.defaultFullName)
        )
    }

    /// A request below another hub.
    func send(
        _ method: String,
        _ path: String,
        at hub: NamedHub,
        as rule: AccessRule? = nil,
        channel: PushChannelSecret? = nil,
        headers: [String: String] = [:],
        _ body: String = ""
    ) async throws -> Reply {
        let token = token(rule ?? hub.full, resource: "http://h/\(hub.name)")
        return try await send(
            method,
            "/\(hub.name)/\(path)",
            as: nil,
            channel: channel,
            headers: headers.merging(["Authorization": token]) { $1 },
            body
        )
    }

    /// Opens an agent's stream of another hub.
    func stream(_ agent: Agent, at hub: NamedHub, as rule: AccessRule? = nil, after cursor: String? = nil) async throws
        -> EventReader
    {
        let connection = try await Connection.open(port)
        var headers = ["Authorization": token(rule ?? hub.listen, resource: "http://h/\(hub.name)")]
        if let cursor { headers[HeaderName.lastEventID] = cursor }
        let path = "/\(hub.name)/installations/\(agent.id)/stream"
        try await connection.send(request("GET", path, as: nil, channel: agent.secret, headers: headers))
        return try await EventReader(connection)
    }

    func post(_ title: String, tags: String? = nil, key: String? = nil, at hub: NamedHub) async throws -> Reply {
        var headers = [HeaderName.format: "template"]
        if let tags { headers[HeaderName.tags] = tags }
        if let key { headers[HeaderName.idempotencyKey] = key }
        let body = String(decoding: MessageProperties(["title": title]).encoded(), as: UTF8.self)
        return try await send("POST", "messages", at: hub, headers: headers, body)
    }
}
