import FuzzCheck
import Markup

/// Turns HTML into text: one line, of bounded length, without markup and without what must not be shown.
@_cdecl("LLVMFuzzerTestOneInput")
public func readHTML(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    checkText(bytes)
    if let padded = padded(bytes) { checkText(padded) }
    return 0
}

private func checkText(_ bytes: [UInt8]) {
    let limit = 1 + bytes.count % 300
    for style in [HTMLText.Style.markup, .title, .text] {
        let text = HTMLText.plain(bytes[...], limit: limit, style: style)
        check(text.count <= limit, "\(text.count) characters, \(limit) allowed")
        check(text.unicodeScalars.count <= 8 * limit + 8, "\(text.unicodeScalars.count) scalars, limit \(limit)")
        check(text.unicodeScalars.allSatisfy(isShown), "\(text.debugDescription)")
        check(text.first != " " && text.last != " " && !text.contains("  "), "\(text.debugDescription)")
        check(PlainText.clean(text, limit: limit) == text, "cleaning changes \(text.debugDescription)")
        // A reference, a character that is dropped, or a tag right after a bracket that begins none (`<</b>script>`) may
        // make a text look like a tag; it is a text then, as it is in a browser.
        let isPlain = bytes.allSatisfy { 0x20...0x7E ~= $0 && $0 != 0x26 } && !bytes.contains([0x3C, 0x3C])
        if style == .markup, isPlain {
            check(!hasTag(text), "a tag in \(text.debugDescription)")
        }
    }
    var tokens = HTMLTokenizer(bytes[...])
    var left = bytes.count + 1
    while tokens.next() != nil {
        left -= 1
        check(left > 0, "more tokens than bytes")
    }
}

private func isShown(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x00...0x1F, 0x7F...0x9F, 0x200B, 0x200E, 0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: false
    default: true
    }
}

/// Whether a script's tag stands in the text.
private func hasTag(_ text: String) -> Bool {
    var rest = Array(text.lowercased().utf8)[...]
    while let start = rest.firstIndex(of: 0x3C) {
        rest = rest[start...]
        if rest.starts(with: "<script".utf8), rest.contains(0x3E) { return true }
        rest = rest.dropFirst()
    }
    return false
}
