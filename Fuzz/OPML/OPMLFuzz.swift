import Feeds
import FuzzCheck

/// Reads OPML; what is written of it is well-formed, and is read as the same outlines.
@_cdecl("LLVMFuzzerTestOneInput")
public func readOPML(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    check(GuardedAllocations.installed, "libxml2's memory is not guarded")
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    checkDocument(bytes)
    if let padded = padded(bytes) { checkDocument(padded) }
    return 0
}

private func checkDocument(_ bytes: [UInt8]) {
    guard let document = try? OPMLReader.read(bytes, contentType: nil) else { return }
    for outline in document.outlines { checkTexts(outline) }
    let text = OPMLWriter.text(document, prefixes: ["urn:x": "x"])
    do {
        let back = try OPMLReader.read(Array(text.utf8), contentType: nil)
        check(back.malformed == nil && back.isComplete, "\(back.malformed ?? "cut"): \(text)")
        check(back.outlines.map(bare) == document.outlines.map(bare), "read otherwise: \(text)")
        check(OPMLWriter.text(back, prefixes: ["urn:x": "x"]) == text, "written otherwise: \(text)")
    } catch {
        check(false, "\(error): \(text)")
    }
}

private func checkTexts(_ outline: OPMLOutline) {
    if let title = outline.title {
        check(!title.isEmpty && !title.utf8.contains { $0 < 0x20 }, "title \(title.debugDescription)")
    }
    if let address = outline.feedAddress {
        check(address.first?.isWhitespace != true && address.last?.isWhitespace != true, "address '\(address)'")
    }
    for child in outline.children { checkTexts(child) }
}

private func bare(_ outline: OPMLOutline) -> OPMLOutline {
    var outline = outline
    outline.line = nil
    outline.children = outline.children.map(bare)
    return outline
}
