import Foundation
import HostSystem
import HubProtocol
import HubRouting
import HubStore

/// The file next to a database whose number is incremented together with the database's, to detect older copies.
///
/// The number is incremented at each start, at each orderly stop and once a minute in between, but not with each
/// commit. The database is updated first, in a durable transaction, and the file second. After a crash or a power cut
/// between the two the file is behind, which the database knows and accepts. A full disk prevents the update before or
/// between the two. The file is ahead of the database only if the database was replaced by an older copy.
///
/// A copy of both together cannot be distinguished from the original.
struct GenerationFile: Sendable {
    let path: String

    static func path(beside database: String) -> String {
        URL(filePath: database).deletingLastPathComponent().path + "/generation"
    }

    /// The content of the file.
    enum Content: Equatable {
        case missing
        case number(Int64, lineage: String)
        /// The content was not written by a hub.
        case unreadable
    }

    /// The sign by which a database is recognized as an older copy.
    enum RestoreSign: String, Sendable {
        case copy = "hub backup or hub restore has written the database"
        case otherLineage = "the file 'generation' belongs to another database"
        case olderThanFile = "the file 'generation' has seen a newer state of the database"
        case fileMissing = "the file 'generation' is missing"
        case fileOlder = "the file 'generation' is older than the database expects"
        case fileUnreadable = "the file 'generation' was not written by a hub"
    }

    /// - Throws: A `HostError` if the file exists and cannot be read.
    func read() throws(HostError) -> Content {
        let bytes: [UInt8]
        do throws(HostError) {
            bytes = try PrivateFile.bytes(path, limit: Self.maximumBytes)
        } catch {
            if error.isMissing { return .missing }
            if error.code == nil { return .unreadable }
            throw error
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.last == "\n", let position = StreamPosition(parsing: String(text.dropLast())) else {
            return .unreadable
        }
        return .number(position.sequence.rawValue, lineage: position.epoch)
    }

    /// Replaces the file atomically; returns when it is on disk.
    func write(_ generation: Generation) throws(HostError) {
        let position = StreamPosition(epoch: generation.lineage, sequence: LogSequence(rawValue: generation.number))
        try PrivateFile.write("\(position)\n", to: path)
    }

    /// Far more than a hub writes.
    private static let maximumBytes = 256

    // MARK: - Rules

    /// Decides whether a database with the number `counted`, which may be marked as a copy, is an older copy.
    ///
    /// - Returns: The sign that it is; `nil` if the database is current.
    static func sign(of counted: Generation?, _ content: Content, isCopy: Bool) -> RestoreSign? {
        if isCopy { return .copy }
        switch content {
        case .unreadable: return .fileUnreadable
        case .missing:
            // The first file may not have been written yet.
            return counted?.inFile == nil ? nil : .fileMissing
        case .number(let number, let lineage):
            // The database is updated first, so a file without a number in the database has seen another state of it.
            guard let counted, counted.lineage == lineage else { return .otherLineage }
            if number > counted.number { return .olderThanFile }
            return number < counted.inFile ?? .min ? .fileOlder : nil
        }
    }

    /// The next number, to be stored first in the database and then in the file.
    static func next(after counted: Generation?, _ content: Content) -> Generation {
        let last = counted?.number ?? 0
        guard case .number(let number, let lineage) = content else {
            return Generation(lineage: counted?.lineage ?? EpochHistory.newName(), number: last + 1, inFile: nil)
        }
        // A database of another lineage takes over the file's lineage, and the file counts as behind until it is
        // written.
        return Generation(lineage: lineage, number: max(number, last) + 1, inFile: number)
    }
}

extension EpochHistory {
    /// A name for a new start, or for a database and its copies: 64 random bits, so that no two histories share a name.
    static func newName() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36)
    }
}
