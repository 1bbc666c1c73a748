/// The bytes that rendering may still cost.
///
/// A template comes from a client, and may repeat a long value many times: rendering ends when the budget is exceeded,
/// not when the result is complete.
package struct RenderingBudget: Sendable, Equatable {
    /// Charged for each term of an expression in addition to its bytes, so that thousands of empty terms are not free.
    package static let costOfTerm = 16

    /// 0 when the budget is exhausted.
    package private(set) var left: Int

    /// - Parameter bytes: At least 0.
    package init(bytes: Int) { left = bytes }

    /// Deducts a cost.
    ///
    /// - Returns: False if less than the cost was left; the budget is then exhausted.
    package mutating func spend(_ bytes: Int) -> Bool {
        guard bytes <= left else {
            left = 0
            return false
        }
        left -= bytes
        return true
    }
}
