import Feeds
import Formats
import Foundation
import FuzzCheck

/// Reads JSON strictly, leniently and into types, also after hundreds of opening brackets, and compares it with
/// Foundation's readers where they survive and accept the document.
@_cdecl("LLVMFuzzerTestOneInput")
public func readJSON(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    checkDocument(bytes)
    checkLevels(bytes)
    if let padded = padded(bytes) { checkDocument(padded) }
    return 0
}

private func checkDocument(_ bytes: [UInt8]) {
    let lenient = JSONReader.readLeniently(bytes)
    check(lenient.value != nil || lenient.fault != nil, "nothing, and no fault")
    check((0...bytes.count).contains(lenient.fault?.offset ?? 0), "\(lenient)")
    do throws(JSONSyntaxError) {
        let node = try JSONReader.read(bytes, allowsRepeats: true)
        let text = Array(node.text.utf8)
        check((try? JSONReader.read(text, allowsRepeats: true))?.text.utf8.elementsEqual(text) == true, node.text)
        check(lenient.fault == nil && lenient.value?.text == node.text, "\(lenient) in what is JSON")
    } catch {
        check((0...bytes.count).contains(error.offset), "\(error)")
        checkSentence(error.reason)
    }
    compare(bytes)
    if let feed = try? FeedReader.read(bytes, url: "https://x.example/f", contentType: nil) {
        _ = feed.identity(startingAt: .id)
    }
}

/// Puts the input after so many brackets that its own come near a limit.
private func checkLevels(_ bytes: [UInt8]) {
    guard let choice = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    let (opening, closing) = choice & 0x80 == 0 ? ("[", "]") : ("{\"a\":", "}")
    for limits in [JSONLimits.foreign, .stored] {
        let count = limits.depth + 3 - Int(choice & 7)
        let cut = Array(String(repeating: opening, count: count).utf8) + rest
        _ = try? JSONReader.read(cut, limits: limits)
        _ = try? JSONReader.decode([String: [Int]].self, from: cut, limits: limits)
        _ = JSONReader.readLeniently(cut, limits: limits)
        let whole = cut + Array(String(repeating: closing, count: count).utf8)
        let isRead = (try? JSONReader.read(whole, limits: limits)) != nil
        check(!isRead || count <= limits.depth, "\(count) levels are read")
        let inner = JSONLimits(bytes: limits.bytes, depth: limits.depth - count, values: limits.values - count)
        // A byte order mark is skipped at the start only; a comma or bracket can belong to the brackets around it.
        guard count <= limits.depth, !rest.starts(with: [0xEF]), (try? JSONReader.read(rest, limits: inner)) != nil
        else { continue }
        check(isRead, "\(count) levels around JSON are not read")
    }
}

/// A value of any kind.
private indirect enum Anything: Decodable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case list([Anything])
    case table([String: Anything])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let list = try? value.decode([Anything].self) {
            self = .list(list)
        } else {
            self = .table(try value.decode([String: Anything].self))
        }
    }
}

/// Foundation's decoder ends the process at more than 512 levels, takes seconds for many nested values that it has to try
/// several times, and also reads UTF-16 and UTF-32.
private func compare(_ bytes: [UInt8]) {
    let brackets = bytes.count { $0 == 0x5B || $0 == 0x7B }
    guard brackets < 10, String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0),
        let theirs = try? JSONDecoder().decode(Anything.self, from: Data(bytes))
    else { return }
    do {
        let ours = try JSONReader.decode(Anything.self, from: bytes)
        check(ours == theirs, "\(ours) is not \(theirs)")
    } catch {
        check(false, "\(error) in what Foundation reads: \(theirs)")
    }
}
