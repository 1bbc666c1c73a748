import Foundation
import GRDB
import Testing

@testable import HubStore
@testable import SQLiteFiles

struct WriteAheadLogTests {
    @Test(arguments: [
        (Int64(16) << 20, 64), (64 << 20, 256), (1 << 30, 4_096), (1 << 40, 4_096), (0, 64),
    ])
    func `a small disk has a small log`(total: Int64, pages: Int) {
        #expect(WriteAheadLog.pages(onDiskOf: DiskSpace(total: total, available: 0)) == pages)
    }

    @Test func `the space of a disk is known, that of a missing path is not`() throws {
        let scratch = try Scratch()
        let space = try #require(DiskSpace(at: scratch.folder))
        #expect(space.total > 0 && space.available <= space.total)
        #expect(DiskSpace(at: scratch.folder + "/absent") == nil)
        #expect(WriteAheadLog.pages(onDiskOf: nil) == WriteAheadLog.maximumPages)
    }

    @Test func `the log shrinks again after a large commit`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let limit = WriteAheadLog.maximumPages * WriteAheadLog.pageBytes
        func size() throws -> Int {
            let attributes = try FileManager.default.attributesOfItem(atPath: scratch.path + "-wal")
            return try #require(attributes[.size] as? Int)
        }
        try await store.pool.write { db in
            try db.execute(sql: "CREATE TABLE large (bytes BLOB); INSERT INTO large VALUES (zeroblob(\(2 * limit)))")
        }
        #expect(try size() > 2 * limit)
        // The large commit was moved into the file; the next one begins the log anew.
        try await store.append(hub, "small")
        #expect(try size() <= limit)
        try store.close()
    }
}
