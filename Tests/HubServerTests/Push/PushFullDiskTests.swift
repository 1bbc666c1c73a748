import Foundation
import GRDB
import HubProtocol
import HubRouting
import PushServices
import Testing

@testable import HubServer
@testable import HubStore

/// A disk that is full while push services answer.
struct PushFullDiskTests {
    private static let count = 500

    @Test func `outcomes that find no room are written when there is some, and delivery goes on`() async throws {
        let door = Door()
        let service = ScriptedPushService { _ in
            await door.opened()
            return .badMessage(String(repeating: "x", count: 300))
        }
        try await ScriptedHub.run(service) { hub in
            defer { door.open() }
            let store = hub.hub.store
            let first = try await hub.sendBatch(Self.count, text: "first")
            await service.sent(atLeast: service.concurrency)
            try await store.fill()
            door.open()
            await service.sent(atLeast: Self.count)
            try await hub.wait { hub.hub.writer.health.failureReason != nil }
            let message = try #require(
                try await store.message(hub: hub.hub.record.id, id: first, through: hub.head)
            )
            let stuck = try #require(try await store.deliveryStates(of: message.logged.sequence).first)
            // A few may have found room in pages that are there.
            let written = stuck.outcomes.values.reduce(0, +)
            #expect(written < Self.count && stuck.delivery.remaining == Self.count - written)
            #expect(try await hub.failures(first).count == written)
            let headers = [HeaderName.format: "apple"]
            let large = #"{"aps":{"alert":""# + String(repeating: "x", count: 8_000) + #""}}"#
            #expect(try await hub.send("POST", "messages", as: hub.full, headers: headers, large).status == 503)

            try await store.empty()
            service.answer { _ in .accepted(id: nil) }
            let second = try await hub.sendBatch(Self.count, text: "second")
            await hub.settlePushes()
            #expect(try await hub.details(first).outcomes == [.apns: [.invalidNotificationFormat: Self.count]])
            let failures = try await hub.failures(first)
            #expect(failures.count == Self.count && Set(failures.map(\.handle)).count == Self.count)
            #expect(try await hub.details(second).outcomes == [.apns: [.success: Self.count]])
            #expect(service.sent.count == 2 * Self.count, "nothing was sent twice")
            #expect(hub.hub.writer.health.failureReason == nil)
        }
    }
}

extension HubStore {
    /// Lets the file grow no more, and fills what is free in it.
    func fill() async throws {
        try await pool.writeWithoutTransaction { db in
            try db.execute(sql: "CREATE TABLE filler (bytes BLOB)")
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(pages)")
            for _ in 0..<1_000 {
                do {
                    try db.execute(sql: "INSERT INTO filler VALUES (zeroblob(4000))")
                } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
                    return
                }
            }
            throw DatabaseError(message: "the file is not full")
        }
    }

    /// Lets the file grow again.
    func empty() async throws {
        try await pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 1000000") }
    }
}
