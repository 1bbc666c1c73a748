/// A hub's request to a callback, before its body is read.
package struct WebSubDelivery: Sendable {
    /// The last part of the callback's path.
    let path: String
    let signature: String?
    let contentType: String?
    let contentEncoding: String?

    /// Reads the header fields of a request by their names.
    package init(path: String, field: (_ name: String) -> String?) {
        self.path = path
        signature = field(WebSubSignature.field)
        contentType = field("Content-Type")
        contentEncoding = field("Content-Encoding")
    }

    /// True if the feed reader can read the body as transmitted; it decompresses gzip itself.
    var isReadable: Bool {
        ["", "identity", "gzip", "x-gzip"].contains(contentEncoding?.lowercased().filter { $0 != " " } ?? "")
    }
}

package struct WebSubAnswer: Sendable, Equatable {
    package let status: Int
    /// The hub's challenge, unchanged.
    package var body = ""
    /// Seconds.
    package var retryAfter: Int?

    static let done = WebSubAnswer(status: 202)
    /// The path or the request is unknown.
    static let unknown = WebSubAnswer(status: 404)
    /// Ends the subscription at the hub.
    static let ended = WebSubAnswer(status: 410)
    static let tooLarge = WebSubAnswer(status: 413)
    static let busy = WebSubAnswer(status: 503, retryAfter: 10)
}
