package import HTTPTypes
import HubClient
package import HubServer
import NIOCore
package import OutboundHTTP

/// Carries calls of a hub's client to a hub of the same process.
package struct InternalTransport: HubTransport {
    /// The origin of URLs that are requested from this process.
    package static let origin = "http://localhost"

    let calls: InternalCalls

    package init(calls: InternalCalls) { self.calls = calls }

    package func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        if Task.isCancelled { throw .cancelled }
        let head = try Self.head(of: request)
        let reply: (head: HTTPResponse, body: ByteBuffer)
        do {
            reply = try await calls.send(
                head,
                body: ByteBuffer(bytes: request.body ?? []),
                replyLimit: request.maximumBodyBytes
            )
        } catch is InternalCalls.TooLarge {
            throw .tooLarge(host: "localhost", limit: request.maximumBodyBytes)
        } catch {
            throw error is CancellationError ? .cancelled : .ended(host: "localhost", reason: "\(error)")
        }
        return OutboundResponse(
            status: reply.head.status.code,
            headers: OutboundHeaders(reply.head.headerFields.map { ($0.name.rawName, $0.value) }),
            body: Array(reply.body.readableBytesView),
            url: request.url
        )
    }

    /// Throws ``OutboundError/badRequest(reason:)``: event streams need a connection.
    package func stream(_ request: OutboundRequest) async throws(OutboundError) -> OutboundStream {
        throw .badRequest(reason: "streams need a connection")
    }

    package static func head(of request: OutboundRequest) throws(OutboundError) -> HTTPRequest {
        guard request.url.hasPrefix("\(origin)/"), let method = HTTPRequest.Method(request.method) else {
            throw .badURL(reason: "it is not a URL of this process")
        }
        var fields = HTTPFields()
        for (name, value) in request.headers {
            guard let name = HTTPField.Name(name) else {
                throw .badRequest(reason: "'\(name)' is not a valid header name")
            }
            fields.append(HTTPField(name: name, value: value))
        }
        if let body = request.body { fields[.contentLength] = "\(body.count)" }
        return HTTPRequest(
            method: method,
            scheme: "http",
            authority: "localhost",
            path: String(request.url.dropFirst(origin.count)),
            headerFields: fields
        )
    }
}
