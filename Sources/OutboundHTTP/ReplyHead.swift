/// Status and header fields of one reply.
struct ReplyHead: Sendable, Equatable {
    var status: Int
    var headers: OutboundHeaders
}

/// Reads the header lines of the final reply, one by one, as libcurl passes them on.
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

    /// Reads one line with its line end.
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
        if head == nil || content.starts(with: "HTTP/".utf8) {
            guard let status = Self.status(content) else {
                return .refused(reason: "its status line is unreadable")
            }
            head = ReplyHead(status: status, headers: OutboundHeaders())
        } else if let colon = content.firstIndex(of: UInt8(ascii: ":")) {
            let name = String(decoding: content[..<colon], as: UTF8.self)
            let value = Self.trimmed(content[(colon + 1)...])
            head?.headers.append(OutboundHeaders.Field(name: name, bytes: value))
        }
        return .more
    }

    private static func status(_ line: Slice<UnsafeRawBufferPointer>) -> Int? {
        let digits = line.drop { $0 != 0x20 }.drop { $0 == 0x20 }.prefix { $0 != 0x20 }
        guard line.starts(with: "HTTP/".utf8), digits.count == 3, digits.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        return status >= 100 ? status : nil
    }

    private static func trimmed(_ value: Slice<UnsafeRawBufferPointer>) -> [UInt8] {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        var bytes = value.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return Array(bytes)
    }

    /// Bytes of all header lines, interim replies included; servers commonly stop at 8 to 32 KiB.
    private static let maximumBytes = 65_536
}
