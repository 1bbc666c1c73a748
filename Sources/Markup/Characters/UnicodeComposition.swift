internal import Foundation

/// Unicode normalization; the standard library's implementation is not public.
enum UnicodeComposition {
    /// Normalization form C: letters and their marks are combined if there is a combined character.
    static func nfc(_ text: String) -> String { text.precomposedStringWithCanonicalMapping }
}
