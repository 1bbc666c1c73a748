import Formats
import HTTPTypes
import HubProtocol
package import Hummingbird
import NIOCore
package import WebEdge

/// A request of a route, with the objects that the route uses.
package struct BackendRequest: Sendable {
    package let backend: AppBackend
    package let request: Request
    package let context: WebContext<Caller>

    /// - Throws: 401 on a route without a signed-in user.
    var caller: Caller { get throws(BackendRefusal) { try context.signedIn() } }

    var query: BackendQuery { get throws(BackendRefusal) { try BackendQuery(request.uri.query) } }

    /// A parameter of the path, percent-decoded.
    func parameter(_ name: String) throws(BackendRefusal) -> String {
        guard let text = PercentEncoding.decode(context.parameters.get(name) ?? "") else {
            throw .badRequest("The path is not valid percent-encoding.")
        }
        return text
    }

    /// Reads the whole body, as ``Hummingbird/Request/bytes(limit:)`` does.
    func body(limit: Int) async throws(BackendRefusal) -> [UInt8] { try await request.bytes(limit: limit) }

    /// True if the client asks for JSON by name; `*/*` does not count.
    var asksForJSON: Bool {
        (request.headers[.accept] ?? "").split(separator: ",").contains { range in
            range.prefix { $0 != ";" }.trimming(" \t").lowercased() == "application/json"
        }
    }
}

extension Request {
    /// Reads the whole body.
    ///
    /// - Throws: 413 above `limit` bytes, 400 for an incomplete body.
    func bytes(limit: Int) async throws(BackendRefusal) -> [UInt8] {
        let tooLarge = BackendRefusal.tooLarge("The request body is larger than \(limit) bytes.")
        guard headers[.contentLength].flatMap({ Int($0) }) ?? 0 <= limit else { throw tooLarge }
        do {
            let buffer = try await body.collect(upTo: limit)
            return [UInt8](buffer.readableBytesView)
        } catch is NIOTooManyBytesError {
            throw tooLarge
        } catch {
            // Only the connection can fail here.
            throw .badRequest("The request body did not arrive completely.")
        }
    }
}

extension Substring {
    fileprivate func trimming(_ characters: String) -> Substring {
        var text = drop { characters.contains($0) }
        while let last = text.last, characters.contains(last) { text.removeLast() }
        return text
    }
}

extension Response {
    /// The only success that the tutorials' clients accept: a status without a body.
    static let empty = Response(status: .ok)

    /// A body of exactly this text: clients strip its first and last characters.
    static func json(_ body: JSONText, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status,
            headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: body.text))
        )
    }
}
