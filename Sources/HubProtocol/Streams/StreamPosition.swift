import Formats

/// A position in a hub's sequence, in the form of an event's `id:`.
///
/// A sequence is only meaningful within its epoch: a hub restored from an older copy counts the same numbers again, under
/// another epoch (protocol §11.2).
package struct StreamPosition: Sendable, Hashable, CustomStringConvertible {
    /// Longest epoch accepted, in characters; a cursor comes from outside.
    package static let maximumEpochLength = 64

    /// Letters and digits.
    package let epoch: String
    /// At least 0.
    package let sequence: LogSequence

    package init(epoch: String, sequence: LogSequence) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Reads `epoch-sequence` in its one canonical spelling; `nil` for anything else.
    package init?(parsing text: String) {
        guard let dash = text.utf8.lastIndex(of: UInt8(ascii: "-")) else { return nil }
        let epoch = text[..<dash]
        let digits = text[text.utf8.index(after: dash)...]
        guard !epoch.isEmpty, epoch.utf8.count <= Self.maximumEpochLength,
            epoch.hasOnlyLettersAndDigits(),
            let sequence = Int64(digits), sequence >= 0, String(sequence) == digits
        else { return nil }
        self.init(epoch: String(epoch), sequence: LogSequence(rawValue: sequence))
    }

    package var text: String { "\(epoch)-\(sequence)" }

    package var description: String { text }
}
