package import GRDB

extension DatabaseMigrator {
    /// Makes a migrator whose migrations only run statements: their names with the statements, oldest first.
    package init(steps: KeyValuePairs<String, String>) {
        self.init()
        for (name, statements) in steps { registerMigration(name) { try $0.execute(sql: statements) } }
    }
}
