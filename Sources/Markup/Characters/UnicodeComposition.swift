internal import Foundation

/// The only Unicode normalization that is needed; the standard library's own is not public.
enum UnicodeComposition {
    /// Normalization form C: letters and their marks are combined if there is a combined character.
    static func nfc(_ text: String) -> String { text.precomposedStringWithCanonicalMapping }
}
