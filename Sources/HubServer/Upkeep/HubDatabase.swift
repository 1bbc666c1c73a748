import HostSystem
import HubStore
package import SQLiteFiles

/// Checks of the hub's file for programs that do not run the hub.
package enum HubDatabase {
    /// Checks a hub's file without changing it.
    ///
    /// - Returns: The reason why it cannot be used; `nil` if it can.
    package static func problem(at path: String) -> String? {
        HubStore.problem(at: path, signs: [GenerationFile.path(beside: path)])
    }

    /// Refuses a hub's file whose content is gone, or that this user cannot read, before a start creates other files.
    ///
    /// - Throws: `DatabaseFileError`.
    package static func refuseLoss(of path: String) throws {
        do {
            try HubStore.check(path, signs: [GenerationFile.path(beside: path)])
        } catch let error as DatabaseFileError where [.lost, .damaged, .rights].contains(error.cause) {
            throw error
        } catch {
            // The start itself waits for locks, and reports everything else.
        }
    }

    /// Makes way for a new hub where the database of an earlier one is gone.
    ///
    /// - Returns: The rest of the database, which was moved; `nil` if nothing was left.
    /// - Throws: `HostError`.
    package static func clear(_ path: String) throws -> FormerDatabase? {
        let kept = try FormerDatabases(of: path).moveAside()
        // After the database: until then the next start is refused, whatever happens in between.
        try HostFile.remove(GenerationFile.path(beside: path))
        return kept
    }
}
