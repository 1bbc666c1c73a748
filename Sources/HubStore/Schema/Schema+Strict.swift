import GRDB

extension Schema {
    /// Tables that are small in any hub, and can therefore be rebuilt quickly.
    private static let smallTables = [
        "hub", "accessRule", "namespaceRule", "epoch", "retention", "category", "clock", "job", "loss", "generation",
    ]

    /// Makes the small tables strict: SQLite then refuses values that do not have a column's type.
    ///
    /// A table is created again under its own name, so that foreign keys and triggers, which refer to it by name, stay
    /// as they are.
    ///
    /// Source: sqlite.org/stricttables.html.
    static func makeStrict(_ db: Database) throws {
        for table in smallTables {
            let schema = "SELECT type, sql FROM sqlite_master WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY type DESC"
            let parts = try Row.fetchAll(db, sql: schema, arguments: [table])
            try db.execute(sql: "CREATE TEMP TABLE former AS SELECT * FROM main.\(table); DROP TABLE main.\(table)")
            for part in parts {
                let (type, sql): (String, String) = (part["type"], part["sql"])
                let option = sql.hasSuffix("ROWID") ? ", STRICT" : " STRICT"
                try db.execute(sql: type == "table" ? sql + option : sql)
            }
            try db.execute(sql: "INSERT INTO main.\(table) SELECT * FROM temp.former; DROP TABLE temp.former")
        }
    }
}
