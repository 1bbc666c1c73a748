/// Status and header fields of one reply.
struct ReplyHead: Sendable, Equatable {
    var status: Int
    var headers: OutboundHeaders
}

/// Reads the header lines that libcurl passes on, one by one, of the final reply only.
///
/// Interim replies (1xx) are skipped; lines after the head, which are trailers, are ignored.
struct ReplyHeadReader {
    enum Step: Equatable {
        case more
        case complete(ReplyHead)
        case ignored
        case refused(reason: String)
    }

    private var head: ReplyHead?
    private var isComplete = false
    private var bytes = 0

    /// Takes one line with its line end.
    mutating func read(_ line: UnsafeRawBufferPointer) -> Step {
        guard !isComplete else { return .ignored }
        bytes += line.count
        guard bytes <= Self.maximumBytes else {
            return .refused(reason: "its header is longer than \(Self.maximumBytes) bytes")
        }
        let content = line.prefix { $0 != 0x0D && $0 != 0x0A }
        if content.isEmpty {
            guard let head else { return .refused(reason: "it has no status line") }
            guard head.status >= 200 || head.status == 101 else {
                self.head = nil
                return .more
            }
            isComplete = true
            return .complete(head)
        }
        let text = Self.text(content)
        if head == nil || text.hasPrefix("HTTP/") {
            guard let status = Self.status(text) else { return .refused(reason: "its status line is unreadable") }
            head = ReplyHead(status: status, headers: OutboundHeaders())
        } else if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) {
            let value = text[text.utf8.index(after: colon)...]
            head?.headers.append(name: String(text[..<colon]), value: Self.trimmed(value))
        }
        return .more
    }

    private static func status(_ line: String) -> Int? {
        let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
        guard parts.count >= 2, parts[0].hasPrefix("HTTP/"), let status = Int(parts[1]),
            (100...999).contains(status)
        else { return nil }
        return status
    }

    /// UTF-8, or each byte as the scalar of its value: a header never fails for its encoding.
    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    private static func trimmed(_ value: Substring) -> String {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        var bytes = value.utf8.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return String(bytes) ?? String(value)
    }

    /// Bytes of all header lines, interim replies included; servers commonly stop at 8 to 32 KiB.
    private static let maximumBytes = 65_536
}
