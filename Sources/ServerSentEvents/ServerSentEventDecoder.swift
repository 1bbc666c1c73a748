/// Turns the bytes of an event stream into events, however they are cut into chunks.
///
/// Departs from WHATWG HTML §9.2.6 in two points. A block with an id or a `retry` but no data is returned, with `data`
/// and `event` nil: blocks with an id alone are the hub's heartbeats, and the reader owns the reconnection time. An id
/// longer than ``maximumIDBytes`` is ignored, as the specification requires for an id that contains NUL: a reader sends
/// the id back in a request header, and servers limit the length of headers.
///
/// Comments are dropped. Bytes that are not UTF-8 become U+FFFD, as the specification requires.
package struct ServerSentEventDecoder: Sendable {
    /// Longest id accepted, in bytes.
    package static let maximumIDBytes = 256

    /// Largest event accepted, in bytes of its lines; without a limit the buffer would grow with the line.
    package let maximumEventBytes: Int
    /// The id that a reconnecting reader sends as `Last-Event-ID`; empty until one arrives, and kept between events.
    package private(set) var lastEventID = ""

    private var line: [UInt8] = []
    private var eventBytes = 0
    private var markMatched = 0
    private var isAtStart = true
    private var afterReturn = false
    private var failure: ServerSentEventError?

    private var pendingID: String?
    private var event: String?
    private var data: [UInt8] = []
    private var hasData = false
    private var retry: Int?

    package init(maximumEventBytes: Int = 1_048_576) {
        self.maximumEventBytes = maximumEventBytes
    }

    /// Reads the next chunk, of any length, and returns the events that it completes.
    ///
    /// - Throws: ``ServerSentEventError/eventTooLarge(limit:)``. Events that were complete before the large one are
    ///   returned first, and the next call throws. Every later call throws, too: the reader reconnects from its cursor.
    package mutating func decode(_ bytes: some Sequence<UInt8>) throws(ServerSentEventError) -> [ServerSentEvent] {
        if let failure { throw failure }
        var events: [ServerSentEvent] = []
        for byte in bytes {
            if isAtStart, skipsByteOrderMark(byte) { continue }
            if byte == ServerSentEvent.lineFeed, afterReturn {
                afterReturn = false
                continue
            }
            afterReturn = byte == ServerSentEvent.carriageReturn
            if afterReturn || byte == ServerSentEvent.lineFeed {
                if let complete = endLine() { events.append(complete) }
                continue
            }
            eventBytes += 1
            guard eventBytes <= maximumEventBytes else {
                let error = ServerSentEventError.eventTooLarge(limit: maximumEventBytes)
                failure = error
                guard !events.isEmpty else { throw error }
                return events
            }
            line.append(byte)
        }
        return events
    }
}

/// The reason why an event stream cannot be read further.
package enum ServerSentEventError: Error, Equatable, Sendable, CustomStringConvertible {
    /// An event, or a comment, is longer than the decoder's bound, in bytes.
    case eventTooLarge(limit: Int)

    package var description: String {
        switch self {
        case .eventTooLarge(let limit): "an event of the stream is larger than \(limit) bytes"
        }
    }
}

extension ServerSentEventDecoder {
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Consumes one leading byte order mark, which may be cut between chunks; puts a partial one back as text.
    private mutating func skipsByteOrderMark(_ byte: UInt8) -> Bool {
        if byte == Self.byteOrderMark[markMatched] {
            markMatched += 1
            isAtStart = markMatched < Self.byteOrderMark.count
            return true
        }
        isAtStart = false
        line.append(contentsOf: Self.byteOrderMark.prefix(markMatched))
        eventBytes += markMatched
        return false
    }

    private mutating func endLine() -> ServerSentEvent? {
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else { return dispatch() }
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        if colon == 0 {
            // A comment keeps a connection alive; it must not use up the allowance of the event around it.
            eventBytes -= line.count
            return nil
        }
        var value = line[(colon.map { $0 + 1 } ?? line.endIndex)...]
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        take(field: line[..<(colon ?? line.endIndex)], value: value)
        return nil
    }

    private mutating func take(field: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        switch String(decoding: field, as: UTF8.self) {
        case "data":
            if hasData { data.append(ServerSentEvent.lineFeed) }
            hasData = true
            data.append(contentsOf: value)
        case "id" where !value.contains(0) && value.count <= Self.maximumIDBytes:
            pendingID = String(decoding: value, as: UTF8.self)
        case "event":
            event = String(decoding: value, as: UTF8.self)
        case "retry" where !value.isEmpty && value.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }:
            // A number too large for Int is ignored.
            retry = Int(String(decoding: value, as: UTF8.self)) ?? retry
        default:
            break
        }
    }

    private mutating func dispatch() -> ServerSentEvent? {
        defer {
            eventBytes = 0
            pendingID = nil
            event = nil
            data.removeAll(keepingCapacity: data.count <= 65_536)
            hasData = false
            retry = nil
        }
        if let pendingID { lastEventID = pendingID }
        if hasData {
            let kind = event.flatMap { $0.isEmpty ? nil : $0 }
            let text = String(decoding: data, as: UTF8.self)
            return ServerSentEvent(id: pendingID, event: kind, data: text, retry: retry)
        }
        guard pendingID != nil || retry != nil else { return nil }
        return ServerSentEvent(id: pendingID, retry: retry)
    }
}
