import Formats
import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import Hummingbird
import NIOCore
import NIOHTTP1

/// A refusal in the protocol's form: status, headers and one-line `<Error>` body (protocol document §2).
struct ErrorReply {
    let error: ProtocolError
    let trackingID: String
    private let body: String

    init(_ error: ProtocolError, trackingID: String? = nil) {
        self.error = error
        self.trackingID = trackingID ?? Self.newTrackingID()
        body = error.xml(trackingID: self.trackingID, at: Date())
    }

    static func newTrackingID() -> String { UUID().uuidString.lowercased() }

    /// True if a client's tracking id is fit for headers, bodies and logs; SDKs send a GUID.
    static func isTrackingID(_ text: String) -> Bool {
        (1...maximumTrackingID).contains(text.utf8.count) && text.hasOnlyLettersAndDigits(or: "-_.:{}")
    }

    private static let maximumTrackingID = 128

    private static let contentType = "application/xml; charset=utf-8"
    var response: Response {
        var headers: HTTPFields = [.contentType: Self.contentType]
        headers.setTracking(trackingID)
        if let retryAfter = error.effectiveRetryAfter { headers[.retryAfter] = "\(retryAfter)" }
        return Response(
            status: .init(code: error.status),
            headers: headers,
            body: .init(byteBuffer: bytes)
        )
    }

    var bytes: ByteBuffer { ByteBuffer(string: body) }

    /// The complete response for a connection without HTTP handlers, which it ends.
    var wholeResponse: ByteBuffer { wholeResponse(fields: "") }

    /// The same response with further header lines, each with its end.
    func wholeResponse(fields: String) -> ByteBuffer { wholeResponse(body, Self.contentType, fields) }

    /// The same response with a page for browsers.
    func wholeResponse(page: String) -> ByteBuffer {
        wholeResponse(page, "text/html; charset=utf-8\r\nContent-Security-Policy: default-src 'none'")
    }

    private func wholeResponse(_ body: String, _ contentType: String, _ fields: String = "") -> ByteBuffer {
        let retry = error.effectiveRetryAfter.map { "Retry-After: \($0)\r\n" } ?? ""
        let status = HTTPResponseStatus(statusCode: error.status)
        return ByteBuffer(
            string: """
                HTTP/1.1 \(status.code) \(status.reasonPhrase)\r
                Content-Type: \(contentType)\r
                Content-Length: \(body.utf8.count)\r
                TrackingId: \(trackingID)\r
                \(HeaderName.correlationID): \(Self.newTrackingID())\r
                \(retry)\(fields)Connection: close\r
                \r
                \(body)
                """
        )
    }
}

extension HTTPFields {
    /// Sets the id by which the client tracks the request, `nil` for none, and one of the hub's own.
    mutating func setTracking(_ id: String?) {
        let own = ErrorReply.newTrackingID()
        self[.trackingID] = id ?? own
        self[.correlationID] = own
    }
}

extension HTTPField.Name {
    // The names are constants of the protocol and valid tokens.
    static let trackingID = HTTPField.Name(HeaderName.trackingID) ?? .location
    static let correlationID = HTTPField.Name(HeaderName.correlationID) ?? .location
}
