package import HTTPTypes
package import Hummingbird
import NIOCore

extension Response {
    /// The media type of JSON.
    package static let jsonType = "application/json; charset=utf-8"

    /// Creates a response with a text.
    ///
    /// - Parameters:
    ///   - text: The body.
    ///   - type: Its media type.
    ///   - status: The status.
    ///   - cache: The value of `Cache-Control`; `nil` for none.
    ///   - forbidsSniffing: True to send `X-Content-Type-Options: nosniff`, for text that a third party wrote or that a
    ///     browser could take for a page.
    package init(
        _ text: String,
        _ type: String = "text/plain; charset=utf-8",
        status: HTTPResponse.Status = .ok,
        cache: String? = nil,
        forbidsSniffing: Bool = false
    ) {
        var headers: HTTPFields = [.contentType: type]
        if forbidsSniffing { headers[.xContentTypeOptions] = "nosniff" }
        headers[.cacheControl] = cache
        self.init(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
