import GRDB
import SQLiteFiles
import Testing

struct GroupMemberTests {
    private struct Refused: Error {}

    private let database: DatabaseQueue

    init() throws {
        database = try DatabaseQueue()
        try database.write { try $0.execute(sql: "CREATE TABLE t (n INTEGER UNIQUE)") }
    }

    private func insert(_ db: Database, _ number: Int) throws {
        try db.execute(sql: "INSERT INTO t VALUES (?)", arguments: [number])
    }

    private var stored: [Int] {
        get throws { try database.read { try Int.fetchAll($0, sql: "SELECT n FROM t ORDER BY n") } }
    }

    @Test func `a member that fails undoes its own work alone`() throws {
        let results = try database.write { db in
            try [1, 2, 1, 3].map { number in
                try db.runMember { db in
                    try insert(db, number)
                    if number == 2 { throw Refused() }
                    return number
                }
            }
        }
        #expect(results.map { (try? $0.get()) ?? 0 } == [1, 0, 0, 3])
        #expect(try stored == [1, 3])
    }

    @Test func `a rehearsal returns its value and leaves nothing`() throws {
        let value = try database.write { db in
            try db.runMember(isUndone: true) { db in
                try insert(db, 1)
                return db.totalChangesCount
            }
        }
        #expect(try value.get() == 1)
        #expect(try stored.isEmpty)
    }

    @Test func `a full disk is not the failure of one member`() throws {
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "CREATE TABLE large (text TEXT)")
            try db.execute(sql: "PRAGMA max_page_count = 6")
        }
        #expect(throws: DatabaseError.self) {
            try database.write { db in
                _ = try db.runMember { try insert($0, 1) }
                let text = String(repeating: "x", count: 50_000)
                _ = try db.runMember { try $0.execute(sql: "INSERT INTO large VALUES (?)", arguments: [text]) }
            }
        }
        #expect(try stored.isEmpty)
    }
}
