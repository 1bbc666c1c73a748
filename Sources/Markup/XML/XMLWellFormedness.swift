/// Checks that a small document is well-formed XML.
package enum XMLWellFormedness {
    /// The largest document that is checked, in bytes.
    package static let maximumBytes = 1_048_576

    /// Checks a document strictly; a document type declaration is refused, whatever it declares.
    ///
    /// - Throws: ``XMLSyntaxError`` for the first fault.
    package static func check(_ text: String) throws(XMLSyntaxError) {
        let bytes = Array(text.utf8)
        guard bytes.count <= maximumBytes else {
            throw XMLSyntaxError(line: 1, reason: "the document is larger than \(maximumBytes) bytes")
        }
        try XMLScanner.check(bytes)
    }
}

/// The first position at which a document is not well-formed.
package struct XMLSyntaxError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The line, from 1.
    package let line: Int
    /// The reason in lower case, without a final period.
    package let reason: String

    package var description: String { "line \(line): \(reason)" }
}
