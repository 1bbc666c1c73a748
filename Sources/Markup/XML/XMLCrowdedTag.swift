/// Finds a start tag with more attributes than libxml2 can handle.
///
/// libxml2 compares every attribute of a tag with every other before it reports the first: 320,000 attributes, in 3 MB,
/// take half a minute. Attributes are therefore counted before parsing. An ordinary document is searched in large
/// steps: a crowded tag is long, so there is none between brackets that are close together.
enum XMLCrowdedTag {
    /// The length of the shortest attribute with the space before it: ` a=""`.
    private static let attributeBytes = 5
    private static let leap = XMLLimits.attributes * attributeBytes

    static func fault(in utf8: [UInt8]) -> XMLSyntaxError? {
        utf8.withUnsafeBufferPointer { bytes in
            guard let start = find(in: bytes) else { return nil }
            let line = bytes[..<start].reduce(1) { $0 + ($1 == 0x0A ? 1 : 0) }
            return XMLSyntaxError(line: line, reason: "a tag has more than \(XMLLimits.attributes) attributes")
        }
    }

    /// - Returns: The offset of the tag's `<`.
    private static func find(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        var bracket = bytes.position(of: 0x3C)
        while let start = bracket {
            let end = min(bytes.count, start + 1 + leap)
            // Any bracket within reach works, and a distant one saves steps.
            bracket =
                bytes.position(of: 0x3C, from: start + 1 + leap * 3 / 4, to: end)
                ?? bytes.position(of: 0x3C, from: start + 1, to: end)
            guard bracket == nil else { continue }
            if isCrowded(bytes[(start + 1)...]) { return start }
            bracket = bytes.position(of: 0x3C, from: end)
        }
        return nil
    }

    /// Counts `=` outside quotation marks; if those do not pair up, the parser stops before the end of the tag.
    private static func isCrowded(_ tag: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        var quote: UInt8?
        var count = 0
        for byte in tag {
            switch byte {
            case 0x3C: return false
            case quote: quote = nil
            case _ where quote != nil: continue
            case 0x22, 0x27: quote = byte
            case 0x3D:
                count += 1
                if count > XMLLimits.attributes { return true }
            case 0x3E, 0x21, 0x3F: return false
            default: continue
            }
        }
        return false
    }
}
