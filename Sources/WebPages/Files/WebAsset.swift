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
    static let desk = WebAsset("desk.js")
    static let `operator` = WebAsset("operator.js")

    package static let all =
        [style, icon, touchIcon, largeIcon, desk, `operator`] + PageScripts.all.flatMap { [$0.reader, $0.notify] }

    private static let mediaTypes = [
        "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
        "png": "image/png",
    ]
}

/// The scripts of readers' pages, with the texts of one language.
struct PageScripts: Sendable {
    let reader: WebAsset
    let notify: WebAsset

    private init(_ words: PageWords) {
        func script(_ name: String) -> WebAsset { WebAsset(name, words.script(name)) }
        (reader, notify) = (script("reader.js"), script("notify.js"))
    }

    private static let byLanguage = Dictionary(
        uniqueKeysWithValues: PageWords.all.map { ($0.language, PageScripts($0)) }
    )

    static let all = Array(byLanguage.values)

    static func of(_ words: PageWords) -> PageScripts { byLanguage[words.language] ?? PageScripts(words) }
}

/// The service worker of all hubs' pages, with one registration for each hub.
///
/// Its address never changes, because browsers look for new versions at the same address. A query names the language.
package enum WorkerFile {
    package static let path = "/-/sw.js"
    package static let mediaType = "text/javascript; charset=utf-8"

    private static let bodies = Dictionary(
        uniqueKeysWithValues: PageWords.all.map { ($0.language, $0.script("sw.js")) }
    )

    /// The address with the texts of a language.
    static func address(_ words: PageWords) -> String {
        words == .english ? path : "\(path)?language=\(words.language)"
    }

    /// The file in a language of the catalogue; in English for any other.
    package static func body(in language: String?) -> [UInt8] {
        language.flatMap { bodies[$0] } ?? bodies[PageWords.english.language] ?? []
    }
}
