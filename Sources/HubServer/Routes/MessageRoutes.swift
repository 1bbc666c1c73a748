import Formats
import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import NIOCore
import WebEdge

/// Immediate and scheduled sends (protocol document §5), and previews of a send's recipients.
enum MessageRoutes {
    static let routes = [
        Route(method: .post, path: "/messages", right: .send, isRepeatable: true) { request in
            try await send(request, .messages)
        },
        Route(method: .post, path: "/messages/:id", right: .send, isRepeatable: true) { request in
            guard try request.context.parameter("id").lowercased() == "$batch" else {
                throw ProtocolError.notFound(
                    "This address accepts no messages: POST to /messages, or to /messages/$batch."
                )
            }
            return try await send(request, .batch)
        },
        Route(method: .get, path: "/messages/:id", right: .send) { request in
            let id = try MessageID(try request.context.parameter("id"))
            var (details, hasFailures) = try await request.operations.details(of: id)
            details.location = request.address("messages").item(id.text)
            if hasFailures { details.errorDetailsURI = request.signedAddress("messages/\(id.text)/\(errorDetails)") }
            return Response(details.xml, Response.xmlType)
        },
        // The target of `PnsErrorDetailsUri`, which clients request without `Authorization`.
        Route(method: .get, path: "/messages/:id/\(errorDetails)", right: .send, takesTokenInQuery: true) { request in
            try await errors(of: try MessageID(try request.context.parameter("id")), FailureLookup(hub: request.hub))
        },
        Route(method: .post, path: "/schedulednotifications", right: .send, isRepeatable: true) { request in
            let id = try await request.operations.accept(try await incoming(request, .scheduledNotifications))
            return created(request, "schedulednotifications", id)
        },
        Route(method: .delete, path: "/schedulednotifications/:id", right: .send) { request in
            try await request.operations.cancel(try MessageID(try request.context.parameter("id")))
            return Response(status: .ok)
        },
        Route(method: .post, path: "/recipients", right: .send, staysHere: true) { request in
            let body = try await request.request.bytes(limit: maximumQuery)
            guard let query = try? JSONReader.decode(RecipientQuery.self, from: body) else {
                throw ProtocolError.badRequest(#"The body must be a JSON object {"tags": "…"}, "" for everybody."#)
            }
            return try .json(encoding: try await request.operations.recipients(of: query))
        },
    ]

    private static let errorDetails = "errordetails"

    /// Maximum size of a `/recipients` body, in bytes.
    private static let maximumQuery = 16 << 10

    private static func send(_ request: HubRequest, _ kind: SendRequest.Kind) async throws -> Response {
        let incoming = try await incoming(request, kind)
        guard incoming.isTest else {
            return created(request, "messages", try await request.operations.accept(incoming))
        }
        let answer = try await request.operations.test(incoming)
        var response = created(request, "messages", answer.id)
        response.headers[.contentType] = Response.xmlType
        response.body = .init(byteBuffer: ByteBuffer(string: answer.xml))
        return response
    }

    private static func errors(of id: MessageID, _ failures: FailureLookup) async throws -> Response {
        let message = try await failures.message(id)
        let first = try await failures.lines(message, from: nil)
        return Response(
            status: .ok,
            headers: [.contentType: ContainerListing.fileType],
            body: .init { writer in
                var page = first
                for number in 1...FailureLookup.maximumPages {
                    if !page.text.isEmpty { try await writer.write(ByteBuffer(string: page.text)) }
                    guard let next = page.next, number < FailureLookup.maximumPages else { break }
                    page = try await failures.lines(message, from: next)
                }
                try await writer.finish(nil)
            }
        )
    }

    private static func incoming(_ request: HubRequest, _ kind: SendRequest.Kind) async throws -> IncomingMessage {
        let body = try await request.request.bytes(limit: kind.maximumBytes)
        return try request.operations.message(
            kind,
            headers: request.request.headers.map { (name: $0.name.rawName, value: $0.value) },
            query: request.request.uri.query ?? "",
            body: body
        )
    }

    private static func created(_ request: HubRequest, _ collection: String, _ id: MessageID) -> Response {
        Response(
            status: .created,
            headers: [.location: request.address(collection).item(id.text)]
        )
    }
}

extension Response {
    static let xmlType = "application/xml; charset=utf-8"
}
