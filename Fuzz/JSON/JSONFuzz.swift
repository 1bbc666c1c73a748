import Foundation
import FuzzCheck

@testable import Feeds

/// Reads JSON, and compares it with Foundation's reader where that takes the document.
@_cdecl("LLVMFuzzerTestOneInput")
public func readJSON(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    checkDocument(bytes)
    if let padded = padded(bytes) { checkDocument(padded) }
    return 0
}

private func checkDocument(_ bytes: [UInt8]) {
    var scanner = JSONScanner(bytes)
    let value = scanner.document()
    check(value != nil || scanner.fault != nil, "nothing, and no fault")
    // Foundation takes UTF-16 and UTF-32 as well, of which our reader is never given any.
    let isText = String(validating: bytes, as: UTF8.self) != nil && !bytes.contains(0)
    let other = isText ? try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed) : nil
    if let value, let other, depth(bytes) < 60 {
        check(scanner.fault == nil, "\(scanner.fault ?? "") in what is JSON")
        check(isSame(value, other), "\(value) is not \(other)")
    }
    if let feed = try? FeedReader.read(bytes, url: "https://x.example/f", contentType: nil) {
        _ = feed.identity(startingAt: .id)
    }
}

private func depth(_ bytes: [UInt8]) -> Int { bytes.count { $0 == 0x5B || $0 == 0x7B } }

private func isSame(_ value: JSONValue, _ other: Any) -> Bool {
    switch value {
    case .object(let members):
        // Of repeated names each reader keeps another.
        guard let other = other as? [String: Any], other.count == members.count else { return false }
        return members.allSatisfy { name, value in other[name].map { kind(value) == kind($0) } ?? false }
    case .array(let values):
        guard let other = other as? [Any], other.count == values.count else { return false }
        return zip(values, other).allSatisfy(isSame)
    case .string(let text): return text == other as? String
    default: return kind(value) == kind(other)
    }
}

private func kind(_ value: Any) -> String {
    switch value {
    case JSONValue.null, is NSNull: "null"
    case JSONValue.string, is String: "string"
    case JSONValue.object, is [String: Any]: "object"
    case JSONValue.array, is [Any]: "array"
    default: "number or bool"
    }
}
