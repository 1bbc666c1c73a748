import HostSystem
import Testing

@testable import HubServer

struct MemoryReturnTests {
    private static let megabyte = 1 << 20

    @Test func `memory is given back after the process has grown, and not again until it has grown again`() {
        var judge = MemoryReturn.Judge(resident: 60 * Self.megabyte)
        #expect(!judge.isDue(resident: 70 * Self.megabyte))
        #expect(judge.isDue(resident: 90 * Self.megabyte))
        judge.returned(resident: 80 * Self.megabyte)
        #expect(!judge.isDue(resident: 90 * Self.megabyte))
        #expect(!judge.isDue(resident: 50 * Self.megabyte))
        #expect(judge.isDue(resident: 70 * Self.megabyte))
    }

    @Test func `a large process is looked through after it has grown by an eighth`() {
        var judge = MemoryReturn.Judge(resident: 1_600 * Self.megabyte)
        #expect(!judge.isDue(resident: 1_700 * Self.megabyte))
        #expect(judge.isDue(resident: 1_800 * Self.megabyte))
    }

    @Test func `freed memory below a block that is in use goes back to the system`() throws {
        var blocks = (0..<40_000).map { _ in [UInt8](repeating: 1, count: 2_000) }
        let last = [UInt8](repeating: 1, count: 64)
        let full = try #require(ProcessMemory.residentBytes)
        blocks = []
        ProcessMemory.returnFreed()
        let after = try #require(ProcessMemory.residentBytes)
        #expect(full - after > 40_000_000, "\(full) before, \(after) after")
        #expect(last.count == 64 && blocks.isEmpty)
    }
}
