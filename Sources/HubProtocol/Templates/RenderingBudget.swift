/// The bytes that rendering may still cost.
///
/// A template is a client's, and may repeat a long value many times: rendering ends as soon as the budget is exceeded,
/// not when the result is complete.
package struct RenderingBudget: Sendable, Equatable {
    /// Charged for each term of an expression beside the bytes that it gives, so that thousands of empty terms are not free.
    package static let costOfTerm = 16

    /// 0 when the budget is exhausted.
    package private(set) var left: Int

    /// - Parameter bytes: At least 0.
    package init(bytes: Int) { left = bytes }

    /// Takes a cost from what is left.
    ///
    /// - Returns: False if less was left; then nothing is.
    package mutating func spend(_ bytes: Int) -> Bool {
        guard bytes <= left else {
            left = 0
            return false
        }
        left -= bytes
        return true
    }
}
