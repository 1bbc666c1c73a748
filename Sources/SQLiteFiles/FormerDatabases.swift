internal import Foundation
internal import Glibc

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
