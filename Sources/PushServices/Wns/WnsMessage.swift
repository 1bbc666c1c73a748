import Formats
import HubProtocol

/// A checked notification for WNS, without its time to live.
///
/// Source: Microsoft, "Push Notification Service request and response headers".
struct WnsMessage: Sendable {
    private static let typeName = "x-wns-type"
    private static let timeName = "x-wns-ttl"
    private static let raw = "wns/raw"
    private static let types = ["wns/toast", "wns/tile", "wns/badge", raw]
    /// Bytes.
    private static let maximumSize = 5_000
    /// Characters of a tag or group.
    private static let maximumTag = 16
    /// Seconds; WNS counts in 32 bits.
    static let maximumTime = Int64(Int32.max)

    let body: [UInt8]
    /// All headers except the time to live.
    let headers: [(name: String, value: String)]
    /// Seconds; `nil` if the message does not say.
    let timeToLive: Int64?
    let collapseKey: String?

    init(_ message: PushMessage) throws(BadPushMessage) {
        guard !message.body.isEmpty else {
            throw BadPushMessage("the notification is empty, which WNS does not accept")
        }
        guard message.body.count <= Self.maximumSize else {
            throw BadPushMessage(
                "the notification has \(message.body.count) bytes, and WNS accepts \(Self.maximumSize)",
                isTooLarge: true
            )
        }
        // A template may render an empty header.
        let given = message.headers.values.filter { $0.key.hasPrefix("x-wns-") && !$0.value.isEmpty }
        for (name, value) in given where !value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
            throw BadPushMessage("\(Self.written(name)) has characters other than printable ASCII")
        }
        let type = try Self.type(given[Self.typeName]?.lowercased(), message.body)
        if type != Self.raw, message.body.first(where: Self.isContent) != UInt8(ascii: "<") {
            throw BadPushMessage("the body is not XML, which \(type) needs")
        }
        try Self.checkWords(given)
        for name in ["x-wns-tag", "x-wns-group"] {
            guard let value = given[name], !Self.isTag(value) else { continue }
            throw BadPushMessage("\(Self.written(name)) is not 1 to \(Self.maximumTag) letters and digits")
        }
        guard given["x-wns-match"] == nil else {
            throw BadPushMessage("X-WNS-Match removes notifications, and the hub only sends them")
        }
        timeToLive = try Self.seconds(given[Self.timeName])
        collapseKey = given["x-wns-tag"].map { "\(type) \(given["x-wns-group"] ?? "") \($0)" }
        body = type == Self.raw ? message.body : Self.withoutForeignEncoding(message.body)
        let others = given.filter { $0.key != Self.typeName && $0.key != Self.timeName }.sorted { $0.key < $1.key }
        headers =
            [("X-WNS-Type", type), ("Content-Type", type == Self.raw ? "application/octet-stream" : "text/xml")]
            + others.map { (Self.written($0.key), $0.value) }
    }

    /// Returns the type in the header, or the one that the root element implies.
    private static func type(_ named: String?, _ body: [UInt8]) throws(BadPushMessage) -> String {
        if let named {
            guard types.contains(named) else {
                throw BadPushMessage("X-WNS-Type is not one of \(types.joined(separator: ", "))")
            }
            return named
        }
        let implied = NativeHeaders(of: body, format: .windows).headers.first?.value ?? raw
        guard implied != raw else {
            throw BadPushMessage("X-WNS-Type is missing and the body's root element is not toast, tile or badge")
        }
        return implied
    }

    private static func checkWords(_ headers: [String: String]) throws(BadPushMessage) {
        for (name, words) in [
            ("x-wns-cache-policy", ["cache", "no-cache"]), ("x-wns-suppresspopup", ["true", "false"]),
            ("x-wns-requestforstatus", ["true", "false"]),
        ] {
            guard let value = headers[name], !words.contains(value.lowercased()) else { continue }
            throw BadPushMessage("\(written(name)) is not \(words.joined(separator: " or "))")
        }
    }

    private static func isTag(_ text: String) -> Bool {
        (1...maximumTag).contains(text.utf8.count) && text.hasOnlyLettersAndDigits()
    }

    private static func seconds(_ text: String?) throws(BadPushMessage) -> Int64? {
        guard let text else { return nil }
        guard text.isDigits, let seconds = Int64(text), seconds <= maximumTime
        else { throw BadPushMessage("X-WNS-TTL is not a number of seconds from 0 to \(maximumTime)") }
        return seconds
    }

    /// The XML without a declaration of another encoding than UTF-8, which it has.
    ///
    /// .NET writes documents to strings, with `encoding="utf-16"`; WNS refuses them. Source: XML 1.0 §4.3.3.
    private static func withoutForeignEncoding(_ body: [UInt8]) -> [UInt8] {
        let start = body.firstIndex(where: isContent) ?? 0
        guard body[start...].starts(with: Array("<?xml".utf8)),
            let end = body[start...].firstIndex(of: UInt8(ascii: ">")), body[end - 1] == UInt8(ascii: "?")
        else { return body }
        let declaration = String(decoding: body[start...end], as: UTF8.self).lowercased()
        guard declaration.contains("encoding"), !declaration.contains("utf-8") else { return body }
        return Array(body[(end + 1)...].drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) })
    }

    /// True for a byte that is not white space or part of a byte order mark.
    private static func isContent(_ byte: UInt8) -> Bool {
        ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains(byte)
    }

    /// Returns a header's name as Microsoft writes it; the service reads names in any case.
    private static func written(_ name: String) -> String {
        switch name {
        case "x-wns-ttl": "X-WNS-TTL"
        case "x-wns-suppresspopup": "X-WNS-SuppressPopup"
        case "x-wns-requestforstatus": "X-WNS-RequestForStatus"
        default:
            "X-WNS-"
                + name.dropFirst("x-wns-".count).split(separator: "-")
                .map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: "-")
        }
    }
}
