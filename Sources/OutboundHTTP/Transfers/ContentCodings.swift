import CCurl

/// The compressions that the installed libcurl can undo, for `Accept-Encoding`.
///
/// A server must not be asked for another one: its answer would be unreadable.
enum ContentCodings {
    /// `nil` when there are none; then nothing is asked for, and bodies come as they are.
    static let accepted: String? = accepted(features: ccurl_features())

    /// Those among the features of a libcurl, given as the bits of `curl_version_info`.
    static func accepted(features: Int32) -> String? {
        let codings = [
            ("gzip", CURL_VERSION_LIBZ), ("br", CURL_VERSION_BROTLI), ("zstd", CURL_VERSION_ZSTD),
        ].filter { features & $0.1 != 0 }.map(\.0)
        return codings.isEmpty ? nil : codings.joined(separator: ", ")
    }
}
