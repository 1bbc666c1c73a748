/// A complete reply with its decompressed body.
package struct OutboundResponse: Sendable, Equatable {
    package let status: Int
    package let headers: OutboundHeaders
    package let body: [UInt8]

    /// The URL after redirects, without user information and fragment.
    package let url: String

    /// The new URL of a resource that has moved permanently: the end of the leading run of 301 and 308 redirects, with
    /// the request's user information if the origin is the same.
    ///
    /// `nil` if the first redirect was not permanent.
    package internal(set) var movedPermanentlyTo: String?
}
