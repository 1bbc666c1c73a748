import HostSystem
import HubProtocol
import HubRouting
import HubStore

/// The file beside a database that counts along with it, by which an older copy of the database is noticed.
///
/// The number moves at each start, at each orderly stop and once a minute in between, and never with a commit. The database
/// moves first, in a durable transaction, and the file second. A crash or a power cut between the two leaves the file behind
/// by what the database knows, which is in order. A full disk stops the move before or between the two. The file is ahead of
/// the database only when the database was replaced by an older copy.
///
/// A copy of both together cannot be told from the original.
struct GenerationFile: Sendable {
    let path: String

    /// What the file holds.
    enum Content: Equatable {
        case missing
        case number(Int64, lineage: String)
        /// Not what a hub writes.
        case unreadable
    }

    /// Why a database is taken for an older copy.
    enum RestoreSign: String, Sendable {
        case copy = "hub backup or hub restore has written the database"
        case otherLineage = "the file 'generation' belongs to another database"
        case olderThanFile = "the file 'generation' has seen a newer state of the database"
        case fileMissing = "the file 'generation' is missing"
        case fileOlder = "the file 'generation' is older than the database knows it to be"
        case fileUnreadable = "the file 'generation' is not what a hub writes"
    }

    /// - Throws: A `HostError` when the file is there and cannot be read.
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

    /// Replaces the file in one step; returns when it is on disk.
    func write(_ generation: Generation) throws(HostError) {
        let position = StreamPosition(epoch: generation.lineage, sequence: LogSequence(rawValue: generation.number))
        try PrivateFile.write("\(position)\n", to: path)
    }

    /// Far more than a hub writes.
    private static let maximumBytes = 256

    // MARK: - Rules

    /// Decides whether a database, which has `counted` so far and may say of itself that it is a copy, is an older one.
    ///
    /// - Returns: Why it is one; `nil` when everything is in order.
    static func sign(of counted: Generation?, _ content: Content, isCopy: Bool) -> RestoreSign? {
        if isCopy { return .copy }
        switch content {
        case .unreadable: return .fileUnreadable
        case .missing:
            // The first file may not have been written yet.
            return counted?.inFile == nil ? nil : .fileMissing
        case .number(let number, let lineage):
            // The database counts first: a file alone has seen another state of it.
            guard let counted, counted.lineage == lineage else { return .otherLineage }
            if number > counted.number { return .olderThanFile }
            return number < counted.inFile ?? .min ? .fileOlder : nil
        }
    }

    /// The number to move to, first in the database and then in the file.
    static func next(after counted: Generation?, _ content: Content) -> Generation {
        let last = counted?.number ?? 0
        guard case .number(let number, let lineage) = content else {
            return Generation(lineage: counted?.lineage ?? EpochHistory.newName(), number: last + 1, inFile: nil)
        }
        // The file's lineage goes on in a database of another one: until the file is written it is one that is behind.
        return Generation(lineage: lineage, number: max(number, last) + 1, inFile: number)
    }
}

extension EpochHistory {
    /// A name for a new start, or for a database and its copies: 64 random bits, so that no two histories share one.
    static func newName() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36)
    }
}
