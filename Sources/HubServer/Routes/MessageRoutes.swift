import FairShares
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
        Route(method: .post, path: "/messages", right: .send, isRepeatable: true) { request, hubs in
            try await send(request, .messages, hubs)
        },
        Route(method: .post, path: "/messages/:id", right: .send, isRepeatable: true) { request, hubs in
            guard try request.context.parameter("id").lowercased() == "$batch" else {
                throw ProtocolError.notFound(
                    "This address accepts no messages: POST to /messages, or to /messages/$batch."
                )
            }
            return try await send(request, .batch, hubs)
        },
        Route(method: .get, path: "/messages/:id", right: .send) { request, hubs in
            let id = try MessageID(try request.context.parameter("id"))
            var (details, hasFailures) = try await request.lookup(hubs).details(id)
            details.location = request.address("messages").item(id.text)
            if hasFailures { details.errorDetailsURI = request.signedAddress("messages/\(id.text)/\(errorDetails)") }
            return Response(details.xml, Response.xmlType)
        },
        // The target of `PnsErrorDetailsUri`, which clients request without `Authorization`.
        Route(method: .get, path: "/messages/:id/\(errorDetails)", right: .send, takesTokenInQuery: true) {
            request,
            _ in
            try await errors(of: try MessageID(try request.context.parameter("id")), FailureLookup(hub: request.hub))
        },
        Route(method: .post, path: "/schedulednotifications", right: .send, isRepeatable: true) { request, _ in
            let id = try await request.hub.messages.accept(try await incoming(request, .scheduledNotifications))
            return created(request, "schedulednotifications", id)
        },
        Route(method: .delete, path: "/schedulednotifications/:id", right: .send) { request, _ in
            try await request.hub.scheduled.cancel(try MessageID(try request.context.parameter("id")))
            return Response(status: .ok)
        },
        Route(method: .post, path: "/recipients", right: .send, staysHere: true) { request, _ in
            let body = try await request.request.bytes(limit: maximumQuery)
            guard let query = try? JSONReader.decode(RecipientQuery.self, from: body) else {
                throw ProtocolError.badRequest(#"The body must be a JSON object {"tags": "…"}, "" for everybody."#)
            }
            let expression = try expression(query.tags, request)
            let counts = try await request.hub.recipients(of: expression, query.format ?? .template)
            return .json([UInt8](try JSONEncoder.sorted.encode(counts)))
        },
    ]

    private static let errorDetails = "errordetails"

    /// Maximum size of a `/recipients` body, in bytes.
    private static let maximumQuery = 16 << 10

    private static func send(
        _ request: HubRequest,
        _ kind: SendRequest.Kind,
        _ hubs: HubDirectory
    ) async throws -> Response {
        let incoming = try await incoming(request, kind)
        guard incoming.isTest else {
            return created(request, "messages", try await request.hub.messages.accept(incoming))
        }
        if let wait = request.hub.testSends.rate.admit(request.hub.record.id) {
            throw ProtocolError.tooManyRequests(
                "A hub accepts \(TestSends.limit.burst) test sends a minute; each calls push services immediately.",
                wait: wait
            )
        }
        let answer = try await request.hub.testSends.answer(to: incoming, request.lookup(hubs))
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
        return IncomingMessage(
            try SendRequest(
                kind,
                headers: request.request.headers.map { (name: $0.name.rawName, value: $0.value) },
                query: request.request.uri.query ?? "",
                body: body,
                now: request.hub.configuration.now(),
                expressionLimits: request.hub.configuration.expressionLimits
            )
        )
    }

    private static func created(_ request: HubRequest, _ collection: String, _ id: MessageID) -> Response {
        Response(
            status: .created,
            headers: [.location: request.address(collection).item(id.text)]
        )
    }

    private static func expression(_ tags: String, _ request: HubRequest) throws(ProtocolError) -> TagExpression? {
        guard !tags.allSatisfy(\.isWhitespace) else { return nil }
        do {
            return try TagExpression(parsing: tags, limits: request.hub.configuration.expressionLimits)
        } catch {
            throw error.protocolError
        }
    }
}

extension Response {
    static let xmlType = "application/xml; charset=utf-8"
}
