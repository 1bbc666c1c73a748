import Foundation
import HostSystem
import HubProtocol

/// How far a job is, so that a later start goes on where this one has stopped.
///
/// It is committed with what the job has done up to there. Lines for the job's files that are not on disk yet stand in it.
struct JobCheckpoint: Codable, Sendable, Equatable {
    /// A file that the job writes.
    struct Output: Codable, Sendable, Equatable {
        /// Bytes that are on disk.
        var length: Int64 = 0
        /// What comes behind them, `nil` for nothing.
        var pending: String?
        /// Lines with ``pending``.
        var lines = 0
    }

    var output = Output()
    var failed = Output()

    // Imports.

    /// The imported file; another one must not be gone on with.
    var source: ConfinedFile.Identity?
    /// What was imported, or could not be.
    var position = RegistrationRecords.Position()

    // Exports.

    /// The id of the last registration that was written.
    var after: String?
    /// Registrations when the job began.
    var total = 0

    init() {}

    /// Reads what ``text`` wrote; of a job that has not begun there is nothing.
    ///
    /// - Throws: What another version wrote, and this one cannot read: to begin anew would do again what is done.
    init(text: String?) throws {
        guard let text else { return }
        self = try JSONDecoder().decode(JobCheckpoint.self, from: Data(text.utf8))
    }

    var text: String {
        get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    }
}
