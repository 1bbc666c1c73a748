import Foundation
import HostSystem
import Testing

@Suite struct TrapNoteTests {
    @Test func `a note is taken once, and only a whole one`() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.file("lock")
        func take(_ content: [UInt8]) throws -> [Int64?] {
            try Data(content).write(to: URL(filePath: path))
            let lock = try #require(try FileLock.acquire(path))
            defer { lock.close() }
            return [TrapNote.take(from: lock), TrapNote.take(from: lock)]
        }
        #expect(try take([]) == [nil, nil])
        #expect(try take([7, 0, 0, 0, 0, 0, 0, 0]) == [7, nil])
        #expect(try take([7, 0, 0]) == [nil, nil])
        #expect(try take([UInt8](repeating: 0xFF, count: 8)) == [nil, nil])
    }

    @Test func `work under a number may throw, and gives its value`() throws {
        struct Failure: Error {}
        #expect(TrapNote.naming(1) { TrapNote.naming(2) { "x" } } == "x")
        #expect(throws: Failure.self) { try TrapNote.naming(3) { throw Failure() } }
    }
}
