/// One block of an event stream.
///
/// A block may consist of an `id` alone: the hub's heartbeat, which moves a reader's cursor and dispatches nothing.
///
/// Source: WHATWG HTML §9.2.
package struct ServerSentEvent: Sendable, Equatable {
    package let id: String?
    package let event: String?
    package let data: String?
    /// The requested reconnection time in milliseconds, at least 0.
    package let retry: Int?

    /// Makes a block that can always be written.
    ///
    /// CR, LF and NUL are removed from `id` and `event`: the format requires single lines, and readers ignore an id
    /// that contains NUL. CRLF and CR in `data` become LF, as a reader would see them. A negative `retry` is dropped.
    package init(id: String? = nil, event: String? = nil, data: String? = nil, retry: Int? = nil) {
        self.id = id.map(Self.singleLine)
        self.event = event.map(Self.singleLine)
        self.data = data.map(Self.normalisedLines)
        self.retry = retry.flatMap { $0 < 0 ? nil : $0 }
    }

    /// Returns the block as sent, with its final blank line; empty if the block has no field.
    ///
    /// An event without data gets an empty `data` line, because readers drop an event that has none.
    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64 + (data?.utf8.count ?? 0))
        if let retry { Self.append("retry: ", String(retry).utf8, to: &bytes) }
        if let id { Self.append("id: ", id.utf8, to: &bytes) }
        if let event { Self.append("event: ", event.utf8, to: &bytes) }
        if let data = data ?? event.map({ _ in "" }) {
            for line in data.utf8.split(separator: Self.lineFeed, omittingEmptySubsequences: false) {
                Self.append("data: ", line, to: &bytes)
            }
        }
        if !bytes.isEmpty { bytes.append(Self.lineFeed) }
        return bytes
    }
}

extension ServerSentEvent {
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")

    private static func append(_ field: StaticString, _ value: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        field.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: value)
        bytes.append(lineFeed)
    }

    private static func singleLine(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == lineFeed || $0 == carriageReturn || $0 == 0 }) else { return text }
        return String(decoding: text.utf8.filter { $0 != lineFeed && $0 != carriageReturn && $0 != 0 }, as: UTF8.self)
    }

    private static func normalisedLines(_ text: String) -> String {
        guard text.utf8.contains(carriageReturn) else { return text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var afterReturn = false
        for byte in text.utf8 {
            if byte == lineFeed, afterReturn {
                afterReturn = false
                continue
            }
            afterReturn = byte == carriageReturn
            bytes.append(afterReturn ? lineFeed : byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
