package import HTTPTypes
package import Hummingbird
import NIOCore

extension Response {
    /// Creates a response with a text.
    ///
    /// - Parameters:
    ///   - text: The body.
    ///   - type: Its media type.
    ///   - status: The status.
    ///   - cache: The value of `Cache-Control`; `nil` for none.
    ///   - isExact: True if browsers must not take the text for another type.
    package init(
        _ text: String,
        _ type: String = "text/plain; charset=utf-8",
        status: HTTPResponse.Status = .ok,
        cache: String? = nil,
        isExact: Bool = false
    ) {
        var headers: HTTPFields = [.contentType: type]
        if isExact { headers[.xContentTypeOptions] = "nosniff" }
        headers[.cacheControl] = cache
        self.init(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
