internal import Foundation
internal import Glibc
package import HostSystem

/// A database that a restore has replaced.
package struct FormerDatabase: Sendable, Equatable {
    package let path: String
    /// True if a newer version of the program has written it.
    package let isOfNewerVersion: Bool
}

/// The databases that restores have replaced, kept beside the current one.
///
/// They are named `hub.sqlite.before-restore`, `hub.sqlite.before-restore-2` and so on, the newest with the highest
/// number.
package struct FormerDatabases: Sendable {
    /// Number of restores whose former databases are kept: a restore of the wrong file, and the one before it, can be
    /// undone.
    package static let kept = 2

    private let database: String

    package init(of database: String) { self.database = database }

    private static let suffix = ".before-restore"

    /// The name for the next one.
    var next: String { name((numbers.last ?? 0) + 1) }

    /// Removes all but the newest ``kept``, with the files that belong to them.
    ///
    /// - Returns: The paths of the removed ones, the oldest first.
    package func removeOldest() -> [String] {
        numbers.dropLast(Self.kept).map(name).filter { path in
            for file in DatabaseCopier.files(of: path) where file != path { unlink(file) }
            return unlink(path) == 0
        }
    }

    /// Moves what is left of a database that cannot be used to the next name.
    ///
    /// - Returns: It under its new path; `nil` if there was no content.
    package func moveAside() throws(HostError) -> FormerDatabase? {
        let former = next
        var hasContent = false
        for (file, kept) in zip(DatabaseCopier.files(of: database), DatabaseCopier.files(of: former)) {
            var facts = stat()
            guard lstat(file, &facts) == 0 else { continue }
            // SQLite's index of its log is made again.
            if facts.st_size == 0 || file.hasSuffix("-shm") {
                try HostFile.remove(file)
            } else {
                try HostFile.move(file, to: kept)
                hasContent = true
            }
        }
        return hasContent ? FormerDatabase(path: former, isOfNewerVersion: false) : nil
    }

    private func name(_ number: Int) -> String {
        database + Self.suffix + (number == 1 ? "" : "-\(number)")
    }

    /// The numbers of the existing ones, ascending.
    private var numbers: [Int] {
        let url = URL(filePath: database)
        let first = url.lastPathComponent + Self.suffix
        let names = try? FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path)
        return (names ?? []).compactMap { name in
            if name == first { return 1 }
            guard name.hasPrefix(first + "-"), let number = Int(name.dropFirst(first.count + 1)), number > 1,
                name == "\(first)-\(number)"
            else { return nil }
            return number
        }.sorted()
    }
}
