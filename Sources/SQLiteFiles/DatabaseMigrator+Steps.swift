package import GRDB

extension DatabaseMigrator {
    /// Creates a migrator whose migrations only run statements.
    ///
    /// - Parameter steps: The name and the SQL statements of each migration, oldest first.
    package init(steps: KeyValuePairs<String, String>) {
        self.init()
        for (name, statements) in steps { registerMigration(name) { try $0.execute(sql: statements) } }
    }
}
