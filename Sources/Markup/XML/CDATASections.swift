internal import Glibc

/// A document with its CDATA sections taken out: libxml2 looks at them character by character, which is half of its time.
///
/// In place of each section stands a processing instruction, at which the builder takes the next one. Only well-formed
/// documents come out right; the strict parse finds out, and then the document is read again as it is.
struct CDATASections {
    /// The name of the instructions.
    static let target = "newswire-cdata"
    private static let instruction = Array("<?\(target)?>".utf8)
    /// Bytes of sections below which nothing is gained.
    private static let worthwhile = 512

    private(set) var document: [UInt8] = []
    /// Where the sections' texts stand in the original, in order.
    private(set) var texts: [Range<Int>] = []

    /// `nil` when there is too little to take out, or when it could not be put back faithfully.
    init?(_ utf8: [UInt8]) {
        let found = utf8.withUnsafeBufferPointer { Self.find(in: $0) }
        guard let found, found.reduce(0, { $0 + $1.count }) >= Self.worthwhile else { return nil }
        texts = found
        document.reserveCapacity(utf8.count)
        var kept = 0
        for text in texts {
            document += utf8[kept..<text.lowerBound - 9]
            document += Self.instruction
            kept = text.upperBound + 3
        }
        document += utf8[kept...]
    }

    /// Goes from one `<` to the next, which in a well-formed document stands in no attribute.
    private static func find(in bytes: UnsafeBufferPointer<UInt8>) -> [Range<Int>]? {
        var found: [Range<Int>] = []
        var position = 0
        while let bracket = index(of: 0x3C, in: bytes, from: position) {
            position = bracket + 1
            if matches("![CDATA[", in: bytes, at: position) {
                guard let end = index(of: "]]>", in: bytes, from: position + 8) else { return nil }
                let text = position + 8..<end
                // Line ends would have to be made uniform, and controls are a fault: libxml2 shall see to them.
                if isFaithful(bytes[text]) { found.append(text) }
                position = end + 3
            } else if matches("!--", in: bytes, at: position) {
                guard let end = index(of: "-->", in: bytes, from: position + 3) else { return nil }
                position = end + 3
            } else if matches("?", in: bytes, at: position) {
                guard !matches("?newswire", in: bytes, at: position),
                    let end = index(of: "?>", in: bytes, from: position + 1)
                else { return nil }
                position = end + 2
            } else if matches("!", in: bytes, at: position) {
                // A document type may hold anything.
                return nil
            }
        }
        return found
    }

    private static func isFaithful(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        var controls = UInt8(0)
        // Without a way out in the middle, so that many bytes are looked at in one step.
        for byte in UnsafeBufferPointer(rebasing: text) {
            controls |= byte < 0x20 && byte != 0x0A && byte != 0x09 ? 1 : 0
        }
        return controls == 0
    }

    private static func index(of byte: UInt8, in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + start, Int32(byte), bytes.count - start)
        else { return nil }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }

    private static func index(of end: StaticString, in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        var position = start
        while let first = index(of: end.utf8Start.pointee, in: bytes, from: position) {
            if matches(end, in: bytes, at: first) { return first }
            position = first + 1
        }
        return nil
    }

    private static func matches(_ text: StaticString, in bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        guard let base = bytes.baseAddress, index + text.utf8CodeUnitCount <= bytes.count else { return false }
        return memcmp(base + index, text.utf8Start, text.utf8CodeUnitCount) == 0
    }
}
