// Foundation, not FoundationEssentials: only it has canonical decomposition on Linux.
import Foundation

/// The rule by which tags, installation ids and user ids are compared.
///
/// Canonical decomposition, then simple case folding of each scalar, then decomposition again: the canonical caseless
/// match of Unicode §3.13 D145, with simple instead of full foldings (`ß` is not `ss`), because the service compares
/// ordinally (protocol §6). Dotless `ı` differs from `i`, as in Unicode's table.
///
/// The result is compared by scalars, never by grapheme clusters: a combining mark after a reserved prefix is part of
/// the prefix's last cluster and would hide it. Decomposing keeps that true for marks that would otherwise merge with
/// the prefix's last letter. Matching, hashing and the check for reserved tags all use this form, so a tag that could
/// match a reserved one counts as reserved.
enum TagFolding {
    static func fold(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return foldASCII(text) }
        var folded = String.UnicodeScalarView()
        for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars {
            folded.append(foldCase(scalar))
        }
        return String(folded).decomposedStringWithCanonicalMapping
    }

    private static func foldASCII(_ text: String) -> String {
        guard text.utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return text }
        return String(decoding: text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// Lower case of upper case, so that scalars which share a capital (`ſ` and `s`, `ς` and `σ`) become one.
    private static func foldCase(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        if scalar == "\u{131}" { return scalar }
        let upper = single(scalar.properties.uppercaseMapping) ?? scalar
        return single(upper.properties.lowercaseMapping) ?? scalar
    }

    private static func single(_ mapping: String) -> Unicode.Scalar? {
        mapping.unicodeScalars.count == 1 ? mapping.unicodeScalars.first : nil
    }
}
