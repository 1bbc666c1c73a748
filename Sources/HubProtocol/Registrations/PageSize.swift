import Formats

/// Number of registrations on a page of a list: the query's `$top`.
///
/// Source: protocol §3.4.
package struct PageSize: Sendable, Equatable {
    package static let maximum = 100

    /// From 1 to ``maximum``.
    package let count: Int

    /// A larger number, which some clients send for "all", and an absent one mean the maximum.
    ///
    /// - Throws: ``ProtocolError`` 400 for 0 and for text that is not a number.
    package init(top text: String?) throws(ProtocolError) {
        guard let text else {
            count = Self.maximum
            return
        }
        // Compared as text: the number may be too large for any type.
        let digits = text.drop { $0 == "0" }
        guard !digits.isEmpty, text.isDigits else {
            throw .badRequest("$top '\(text.excerpt)' is not a number from 1 to \(Self.maximum)")
        }
        count = digits.utf8.count > 3 ? Self.maximum : min(Int(digits) ?? Self.maximum, Self.maximum)
    }
}
