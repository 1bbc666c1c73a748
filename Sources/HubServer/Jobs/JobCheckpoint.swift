import Formats
import Foundation
import HostSystem
import HubProtocol

/// The progress of a job, from which the next start continues.
///
/// It is committed together with the job's changes. Lines for the job's files that are not on disk yet are part of it.
struct JobCheckpoint: Codable, Sendable, Equatable {
    /// A file that the job writes.
    struct Output: Codable, Sendable, Equatable {
        /// Number of bytes on disk.
        var length: Int64 = 0
        /// The lines to append; `nil` for none.
        var pending: String?
        /// Number of lines, including ``pending``.
        var lines = 0
    }

    var output = Output()
    var failed = Output()

    // Imports.

    /// The imported file; the job must not continue with another one.
    var source: ConfinedFile.Identity?
    /// The place up to which records were processed, including failed ones.
    var position = RegistrationRecords.Position()

    // Exports.

    /// The id of the last registration written.
    var after: String?
    /// Number of registrations when the job began.
    var total = 0

    init() {}

    /// Reads the result of ``text``; a job that has not begun has none, and starts at the beginning.
    ///
    /// - Throws: An error if this version cannot read a text that another version wrote: restarting would repeat work
    ///   that is done.
    init(text: String?) throws {
        guard let text else { return }
        self = try JSONReader.decode(JobCheckpoint.self, from: text, limits: .stored)
    }

    var text: String {
        get throws { try JSONEncoder.sorted.text(self) }
    }
}
