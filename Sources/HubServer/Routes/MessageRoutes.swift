import Crypto
import Foundation
import HTTPTypes
import HubProtocol
import Hummingbird

/// Sending (protocol document §5.1), and asking beforehand whom a send would reach.
enum MessageRoutes {
    static let routes = [
        Route(method: .post, path: "/messages", right: .send) { request, _ in
            let message = try await incoming(request)
            let id = try await request.hub.accept(message)
            return Response(status: .created, headers: [.location: request.address("messages").item(id.text)])
        },
        Route(method: .post, path: "/recipients", right: .send) { request, _ in
            let body = try await request.body(limit: maximumQuery)
            guard let query = try? JSONDecoder().decode(RecipientQuery.self, from: Data(body)) else {
                throw ProtocolError.badRequest(#"The body must be a JSON object {"tags": "…"}, "" for everybody."#)
            }
            let counts = request.hub.recipients(of: try expression(query.tags))
            return .json([UInt8](try JSONEncoder.sorted.encode(counts)))
        },
    ]

    /// Bytes of a `/recipients` body.
    private static let maximumQuery = 16 << 10
    /// Characters of an idempotency key.
    private static let maximumKey = 256

    private static func incoming(_ request: HubRequest) async throws -> IncomingMessage {
        let headers = request.request.headers
        let format = headers[header: HeaderName.format].flatMap { $0.isEmpty ? nil : $0 } ?? "template"
        guard MessageFormat(rawValue: format) == .template else {
            throw ProtocolError.badRequest(
                "The format '\(format.prefix(40))' in \(HeaderName.format) is not sent by this hub; it sends 'template'."
            )
        }
        if let unsupported = unsupported(request) { throw ProtocolError.badRequest(unsupported) }
        let tags = headers[header: HeaderName.tags].flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
        let key = headers[header: HeaderName.idempotencyKey]
        if let key, key.isEmpty || key.unicodeScalars.count > maximumKey {
            throw ProtocolError.badRequest("The Idempotency-Key must have 1 to \(maximumKey) characters.")
        }
        let expression = try expression(tags ?? "")
        let body = try await request.body(limit: MessageProperties.maximumBytes)
        return IncomingMessage(
            id: MessageID.random(),
            tags: tags,
            expression: expression,
            properties: try MessageProperties(json: body),
            body: body,
            idempotencyKey: key,
            contentHash: contentHash(tags: tags, format: format, body: body)
        )
    }

    /// Why a kind of send is refused, rather than carried out as another one.
    private static func unsupported(_ request: HubRequest) -> String? {
        if request.request.headers[header: HeaderName.deviceHandle] != nil || request.query.contains("direct") {
            return "This hub does not send to one device handle yet; send to the tag '$InstallationId:{…}'."
        }
        if request.query.contains("test") { return "This hub has no test sends yet; send without 'test'." }
        return nil
    }

    private static func expression(_ tags: String) throws(ProtocolError) -> TagExpression? {
        guard !tags.allSatisfy(\.isWhitespace) else { return nil }
        do {
            return try TagExpression(parsing: tags)
        } catch {
            throw error.protocolError
        }
    }

    /// Hash of what a repeat must be equal in; each part is preceded by its length.
    private static func contentHash(tags: String?, format: String, body: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        for part in [Array((tags ?? "").utf8), Array(format.lowercased().utf8), body] {
            withUnsafeBytes(of: UInt64(part.count).littleEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: part)
        }
        return Array(hash.finalize())
    }
}

extension JSONEncoder {
    static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }
}
