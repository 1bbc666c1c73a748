internal import Foundation

/// The one thing of Unicode's normal forms that is needed; the standard library keeps its own to itself.
enum UnicodeComposition {
    /// Normalization form C: letters and their marks in one character where there is one.
    static func nfc(_ text: String) -> String { text.precomposedStringWithCanonicalMapping }
}
