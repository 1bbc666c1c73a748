package import GRDB

extension DatabaseMigrator {
    /// Migrates a file that another process may be migrating at the same time.
    ///
    /// GRDB lists the missing migrations before it runs the first one, and then fails in one that the other process has
    /// run meanwhile. This is repeated as long as the file makes progress.
    ///
    /// - Throws: The error of the first migration that fails on its own.
    package func migrate(besideOthers database: some DatabaseWriter) throws {
        var done = try database.read(appliedIdentifiers)
        while true {
            do {
                return try migrate(database)
            } catch {
                let doneNow = try database.read(appliedIdentifiers)
                guard doneNow.count > done.count else { throw error }
                done = doneNow
            }
        }
    }
}
