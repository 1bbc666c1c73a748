import CCurl
import Formats

/// The content codings that the installed libcurl can decode, for `Accept-Encoding`.
///
/// A reply in any other coding could not be read.
enum ContentCodings {
    /// The codings, separated by commas; `nil` if there are none, and then the header is not sent.
    static let accepted: String? = accepted(features: ccurl_features())

    /// True if a body that was left as it came has a coding that libcurl can decode, except gzip.
    ///
    /// All other codings, such as `UTF-8`, `binary` and `aws-chunked`, are not codings, but mistakes.
    static func needsDecoder(_ headers: OutboundHeaders) -> Bool {
        headers.all("Content-Encoding").contains { field in
            field.split(separator: ",").contains { coding in
                ["br", "zstd", "deflate"].contains(coding.trimmingBlanks().lowercased())
            }
        }
    }

    /// Returns the codings of a libcurl whose features are the bits of `curl_version_info`.
    static func accepted(features: Int32) -> String? {
        let codings = [
            ("gzip", CURL_VERSION_LIBZ), ("br", CURL_VERSION_BROTLI), ("zstd", CURL_VERSION_ZSTD),
        ].filter { features & $0.1 != 0 }.map(\.0)
        return codings.isEmpty ? nil : codings.joined(separator: ", ")
    }
}
