import AppBackend
import GRDB
import HubTestServer
import Testing

@testable import HubStore
@testable import PageServer

/// The tables of app backend and pages in a hub's file are those of their own files.
struct PeopleTablesTests {
    @Test(arguments: [BackendStore.migrator, PageStore.migrator])
    func `a hub has the same tables`(migrator: DatabaseMigrator) throws {
        let (hub, file) = (try DatabaseQueue(), try DatabaseQueue())
        try Schema.migrator.migrate(hub)
        try migrator.migrate(file)
        let expected = try file.read(Self.tables)
        let found = try hub.read(Self.tables)
        #expect(!expected.isEmpty)
        for (table, parts) in expected { #expect(found[table] == parts, "\(table)") }
    }

    @Test func `a command sees that a file of an earlier version has no people in it`() throws {
        let scratch = try ScratchFolder()
        let path = scratch.file("hub.sqlite")
        let file = try DatabaseQueue(path: path)
        for name in Schema.migrator.migrations {
            try Schema.migrator.migrate(file, upTo: name)
            #expect(try LogMembership.position(of: path) == nil, "\(name)")
            #expect(try !HubStore.readingTables(of: path, HubStore.holdsPeople), "\(name)")
        }
    }

    /// Columns, references and indexes by table.
    private static func tables(_ db: Database) throws -> [String: Set<String>] {
        let names = try String.fetchAll(
            db,
            sql:
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'grdb_%'"
        )
        return try names.reduce(into: [:]) { tables, name in
            let kind = try Row.fetchAll(
                db,
                sql: "SELECT wr, strict FROM pragma_table_list WHERE name = ?",
                arguments: [name]
            )
            let columns = try Row.fetchAll(
                db,
                sql: "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?)",
                arguments: [name]
            )
            let references = try Row.fetchAll(
                db,
                sql: "SELECT \"table\", \"from\", on_delete FROM pragma_foreign_key_list(?)",
                arguments: [name]
            )
            let indexes = try Row.fetchAll(
                db,
                sql: """
                    SELECT list.name, list."unique", list.partial, info.seqno, info.cid = -2 AS isExpression, info.name AS column
                    FROM pragma_index_list(?) AS list, pragma_index_info(list.name) AS info
                    """,
                arguments: [name]
            )
            let sequence = try Bool.fetchOne(
                db,
                sql: "SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_schema WHERE type = 'table' AND name = ?",
                arguments: [name]
            )
            tables[name] = Set((kind + columns + references + indexes).map(\.description) + ["\(sequence ?? false)"])
        }
    }
}
