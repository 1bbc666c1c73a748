/// Numbers of things, in words for people.
package enum Counted {
    /// Returns the number with its noun, and verb if it has one: `1 message waits`, `2 messages wait`.
    ///
    /// Without `many`, the plural is `one` with an s.
    package static func text(_ count: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
        "\(count) \(count == 1 ? one : many ?? one + "s")"
    }

    /// `once`, `2 times`.
    package static func times(_ count: some BinaryInteger) -> String { count == 1 ? "once" : "\(count) times" }
}
