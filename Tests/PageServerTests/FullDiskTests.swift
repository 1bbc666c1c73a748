import GRDB
import HubProtocol
import OutboundHTTP
import SQLiteFiles
import Testing

@testable import HubServer
@testable import HubStore
@testable import PageServer

/// The pages' database on a full disk.
@Suite struct FullDiskTests {
    @Test func `a page that cannot be stored is answered with 503, and the server says what is not ready`() async throws
    {
        try await PagesHub.run(nodes: 1) { hub in
            let news = try HubName("news")
            var codes: [String] = []
            for _ in 1...90 { codes.append(try await hub.store.invite(to: news, at: hub.clock.now).code) }
            #expect(try await hub.send("GET", "/readyz").body == "ready\n")
            try await hub.store.limit(toPages: 1)
            var refused: Reply?
            // Fewer than a network may start: the pages that the file has are filled by then.
            for code in codes where refused == nil {
                let reply = try await hub.send("POST", "/-/news/enter", form: "code=\(code)")
                if reply.status != 303 { refused = reply }
            }
            let reply = try #require(refused)
            #expect(reply.status == 503, "\(reply.body)")
            #expect(reply.headers["Retry-After"] == "5")
            #expect(reply.body.contains("Reload this page in a few seconds"), "\(reply.body)")
            let ready = try await hub.send("GET", "/readyz")
            #expect(ready.status == 200, "news is still delivered")
            #expect(
                ready.body == "ready\npages: not ready: the database cannot be used: the disk is full\n",
                "\(ready.body)"
            )
            try await hub.store.limit(toPages: 1_000_000)
            #expect(try await hub.send("GET", "/readyz").body == "ready\n")
        }
    }

    @Test func `a command that cannot store an invitation names the file`() async throws {
        try await PagesHub.run(nodes: 1) { hub in
            let news = try HubName("news")
            try await hub.store.limit(toPages: 1)
            let error = await #expect(throws: DatabaseFileError.self) {
                for _ in 1...1_000 { _ = try await hub.store.invite(to: news, at: hub.clock.now) }
            }
            #expect(error?.cause == .temporary)
            #expect(error?.path.hasSuffix("/pages.sqlite") == true)
            #expect(error?.reason == "the disk is full")
        }
    }

    @Test func `a full disk of the hub is answered with 503 by the pages as well`() async throws {
        try await PagesHub.run(nodes: 1) { hub in
            try await hub.service.directory.hub(named: "news").store.fill()
            var codes: [String] = []
            for _ in 1...90 {
                codes.append(try await hub.store.invite(to: try HubName("news"), at: hub.clock.now).code)
            }
            var refused: Reply?
            // Each reader has an installation at the hub.
            for code in codes where refused == nil {
                let reply = try await hub.send("POST", "/-/news/enter", form: "code=\(code)")
                if reply.status != 303 { refused = reply }
            }
            #expect(refused?.status == 503, "\(refused?.body ?? "")")
            #expect(refused?.headers["Retry-After"] == "5")
        }
    }
}

extension HubStore {
    /// Fills the free pages of the file, which then grows no more.
    fileprivate func fill() async throws {
        try await pool.writeWithoutTransaction { db in
            try db.execute(sql: "CREATE TABLE filler (bytes BLOB); PRAGMA max_page_count = 1")
            for _ in 0..<1_000 {
                do {
                    try db.execute(sql: "INSERT INTO filler VALUES (zeroblob(4000))")
                } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
                    return
                }
            }
        }
    }
}

extension PageStore {
    /// Limits the file as a full disk does; a file never gets smaller.
    fileprivate func limit(toPages pages: Int) async throws {
        try await write { try $0.database.execute(sql: "PRAGMA max_page_count = \(pages)") }
    }
}
