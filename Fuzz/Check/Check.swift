/// Ends the program with what is wrong, also in an optimized build, in which `precondition` says nothing.
package func check(_ isRight: Bool, _ message: @autoclosure () -> String) {
    guard !isRight else { return }
    fatalError(message())
}

/// Ends the program when a refusal does not read as one line of text.
package func checkSentence(_ text: String) {
    check(!text.isEmpty && !text.utf8.contains { $0 < 0x20 }, text.debugDescription)
}

/// The first line of an input and what is behind it; of one without a line end, the whole twice.
package func firstLine(_ start: UnsafePointer<UInt8>?, _ count: Int) -> (line: String, rest: String) {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    let parts = text.unicodeScalars.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
    return (String(parts[0]), parts.count > 1 ? String(parts[1]) : text)
}
