/// A complete reply: its body arrived to the announced end, decompressed.
package struct OutboundResponse: Sendable, Equatable {
    package let status: Int
    package let headers: OutboundHeaders
    package let body: [UInt8]

    /// The address that answered, after redirects, without user information and fragment.
    package let url: String

    /// Where the requested address has moved for good: the end of the leading run of 301 and 308 steps, with the
    /// request's user information when it is of the same origin.
    ///
    /// `nil` when the first step was not permanent.
    package let movedPermanentlyTo: String?

    package init(
        status: Int,
        headers: OutboundHeaders,
        body: [UInt8],
        url: String,
        movedPermanentlyTo: String? = nil
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.url = url
        self.movedPermanentlyTo = movedPermanentlyTo
    }
}
