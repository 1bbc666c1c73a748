import Crypto
import Formats

/// A file that browsers cache for a year: its address changes with its content.
package struct WebAsset: Sendable {
    /// The address, `/-/assets/NAME.HASH.EXT`.
    package let path: String
    package let mediaType: String
    package let body: [UInt8]

    private static let hashLength = 12

    init(_ name: String) { self.init(name, WebFiles.bytes(name)) }

    /// Creates a file that is not part of the program.
    init(_ name: String, _ bytes: [UInt8]) {
        let hash = Hexadecimal.encode(SHA256.hash(data: bytes))
        let parts = name.split(separator: ".", maxSplits: 1)
        let ending = parts.last.map(String.init) ?? ""
        path = "/-/assets/\(parts.first ?? "").\(hash.prefix(Self.hashLength)).\(ending)"
        mediaType = Self.mediaTypes[ending] ?? "application/octet-stream"
        body = bytes
    }

    static let style = WebAsset("style.css")
    package static let icon = WebAsset("icon.svg")
    /// For the home screens of iPhones, which show no SVG: squares without transparency, in pixels.
    package static let touchIcon = WebAsset("icon-180.png")
    package static let largeIcon = WebAsset("icon-512.png")
    static let reader = WebAsset("reader.js")
    static let notify = WebAsset("notify.js")
    static let desk = WebAsset("desk.js")

    package static let all = [style, icon, touchIcon, largeIcon, reader, notify, desk]

    private static let mediaTypes = [
        "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
        "png": "image/png",
    ]
}

/// The service worker of all hubs' pages, with one registration for each hub.
///
/// Its address never changes, because browsers look for new versions at the same address.
package enum WorkerFile {
    package static let path = "/-/sw.js"
    package static let mediaType = "text/javascript; charset=utf-8"
    package static let body = WebFiles.bytes("sw.js")
}
