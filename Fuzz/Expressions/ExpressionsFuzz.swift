import FuzzCheck

@testable import HubProtocol

/// Reads a tag expression, and what is written of it once more: it is the same formula for every choice of tags.
@_cdecl("LLVMFuzzerTestOneInput")
public func readExpression(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    let expression: TagExpression
    do throws(TagExpressionError) {
        expression = try TagExpression(parsing: text)
    } catch {
        check((0...text.unicodeScalars.count).contains(error.offset), error.description)
        checkSentence(error.description)
        readTag(text)
        return 0
    }
    let limits = TagExpression.Limits.standard
    let tags = expression.tags.sorted { $0.folded < $1.folded }
    check((1...limits.alternatives).contains(tags.count), "\(tags.count) tags")
    tags.forEach { readTag($0.text) }
    // All choices of as many tags as an expression with `&&` may have; of a longer one, of the first.
    for choice in 0..<(1 << min(tags.count, limits.tags)) {
        let chosen = Set(tags.indices.filter { $0 < limits.tags && choice >> $0 & 1 == 1 }.map { tags[$0] })
        evaluate(expression, chosen)
    }
    return 0
}

private func evaluate(_ expression: TagExpression, _ chosen: Set<Tag>) {
    let evaluation = TagEvaluation(expression.root, contains: chosen.contains)
    check(evaluation.holds == expression.matches(chosen.contains), expression.text)
    check(!evaluation.demand.isEmpty || evaluation.holds, "no reason for \(expression)")
    guard let again = try? TagExpression(parsing: evaluation.expression) else {
        // Parentheses are written only where they are needed, so nothing becomes deeper; blanks may be added.
        let isTooLong = evaluation.expression.unicodeScalars.count > TagExpression.Limits.standard.length
        return check(isTooLong, evaluation.expression)
    }
    check(again.matches(chosen.contains) == evaluation.holds, "\(expression) is not \(again)")
}

/// A tag is equal to itself in any case, and known by the same key.
private func readTag(_ text: String) {
    guard let tag = try? Tag(text) else { return }
    check((try? Tag(tag.text)) == tag, text)
    guard let lower = try? Tag(text.lowercased()), text.utf8.allSatisfy({ $0 < 0x80 }) else { return }
    check(lower == tag, text)
}
