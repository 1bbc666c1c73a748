import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import NIOCore
import WebEdge

/// Registrations (protocol document §3).
enum RegistrationRoutes {
    static let routes = [
        Route(method: .post, path: "/registrationids", right: .listen, staysHere: true) { request in
            Response(status: .created, headers: [.location: request.address.item(RegistrationID.random())])
        },
        Route(method: .post, path: "/registrations", right: .listen) { request in
            let stored = try await put(.random(), if: .none, request)
            return entry(of: stored, at: request.address.item(stored.registration.id), request)
        },
        Route(method: .put, path: "/registrations/:id", right: .listen) { request in
            let condition = ETagCondition(ifMatch: request.request.headers[.ifMatch])
            return entry(
                of: try await put(try request.registrationID(), if: condition, request),
                at: request.address.url,
                request
            )
        },
        Route(method: .get, path: "/registrations/:id", right: .listen) { request in
            let stored = try await request.operations.registration(try request.registrationIDToFind())
            return entry(of: stored, at: request.address.url, request)
        },
        Route(method: .delete, path: "/registrations/:id", right: .listen) { request in
            let condition = ETagCondition(ifMatch: request.request.headers[.ifMatch])
            try await request.operations.deleteRegistration(try request.registrationIDToFind(), if: condition)
            return Response(status: .ok)
        },
        Route(
            method: .get,
            path: "/registrations",
            right: .manage,
            exception: .init(right: .listen, example: "$filter=DeviceToken+eq+'AA'") { request in
                FormFields(request.uri.query, ignoresCase: true)["$filter"] != nil
            }
        ) { request in
            guard let text = request.query.literal("$filter") else { return try await page(.all, request) }
            return try await page(.handle(try HandleFilter(parsing: text), request.grant), request)
        },
        Route(method: .get, path: "/tags/:tag/registrations", right: .manage) { request in
            try await page(.tag(try Tag(try request.context.parameter("tag"))), request)
        },
    ]

    private static func put(
        _ id: RegistrationID,
        if condition: ETagCondition,
        _ request: HubRequest
    ) async throws -> StoredRegistration {
        try await request.operations.putRegistration(if: condition) {
            let body = try await request.request.bytes(limit: Registration.maximumBytes)
            let maximumTags = request.hub.configuration.maximumTags
            return (try Registration(entry: body, id: id, maximumTags: maximumTags), body.count)
        }
    }

    private static func entry(of stored: StoredRegistration, at url: String, _ request: HubRequest) -> Response {
        let date = request.hub.configuration.now()
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/atom+xml; type=entry; charset=utf-8",
                .eTag: stored.registration.entityTag, .contentLocation: url,
            ],
            body: .init(byteBuffer: ByteBuffer(bytes: stored.listed.entry(at: url, date: date)))
        )
    }

    private static func page(_ selection: RegistrationSelection, _ request: HubRequest) async throws -> Response {
        let size = try PageSize(top: request.query["$top"])
        let token = try request.query["continuationtoken"].flatMap { text in
            text.isEmpty ? nil : try ContinuationToken(parsing: text)
        }
        let page = try await request.operations.registrations(selection, from: token, limit: size.count)
        let feed = RegistrationFeed(
            registrations: page.registrations.map(\.listed),
            address: request.address,
            items: selection.isOfTag ? request.address("registrations") : request.address,
            next: page.next.map { ContinuationToken(position: $0) }
        )
        var headers: HTTPFields = [.contentType: "application/atom+xml; type=feed; charset=utf-8"]
        if let next = feed.next { headers[.continuationToken] = next.text }
        return Response(
            status: .ok,
            headers: headers,
            body: .init(byteBuffer: ByteBuffer(bytes: feed.encoded(date: request.hub.configuration.now())))
        )
    }
}

extension StoredRegistration {
    /// The registration as lists show it, with its template's name even if that is not a tag.
    var listed: Registration {
        guard installation != nil, let name = registration.template?.name, !name.contains(","),
            Tag(templateName: name) == nil
        else { return registration }
        var listed = registration
        listed.listedName = name
        return listed
    }
}

extension HubRequest {
    fileprivate func registrationID() throws(ProtocolError) -> RegistrationID {
        try RegistrationID(try context.parameter("id"))
    }

    /// - Throws: 404 for an invalid id: SDKs take it as the answer to "does it exist?".
    fileprivate func registrationIDToFind() throws(ProtocolError) -> RegistrationID {
        let text = try context.parameter("id")
        guard let id = try? RegistrationID(text) else { throw .noRegistration }
        return id
    }
}

extension HTTPField.Name {
    fileprivate static let continuationToken = HTTPField.Name(HeaderName.continuationToken) ?? .location
}
