import Formats
import HTTPTypes
import Hummingbird
import NIOCore
import WebEdge

/// The headers of all pages.
enum PageHeaders {
    /// The policy: only our own files are loaded, pages cannot be framed, and scripts cannot turn text into markup.
    ///
    /// Source: W3C Content Security Policy Level 3; Trusted Types.
    static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "manifest-src 'self'", "worker-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types worker",
    ].joined(separator: "; ")

    /// The response with a page.
    static func html(_ body: ByteBuffer, status: HTTPResponse.Status = .ok) -> Response {
        var fields = common("text/html; charset=utf-8")
        fields[.cacheControl] = "no-store"
        fields[.vary] = "Accept-Language"
        fields[.contentSecurityPolicy] = policy
        // Other sites do not get our addresses. With `no-referrer` browsers would send `Origin: null` with forms.
        fields[named: "Referrer-Policy"] = "same-origin"
        fields[named: "Cross-Origin-Opener-Policy"] = "same-origin"
        return Response(status: status, headers: fields, body: .init(byteBuffer: body))
    }

    /// The answer to the page's script.
    static func json(_ body: JSONText) -> Response {
        Response(body.text, Response.jsonType, cache: "no-store", forbidsSniffing: true)
    }

    static func common(_ mediaType: String) -> HTTPFields {
        var fields: HTTPFields = [.contentType: mediaType]
        fields[.xContentTypeOptions] = "nosniff"
        return fields
    }
}
