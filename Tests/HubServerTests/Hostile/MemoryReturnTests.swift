import HostSystem
import Testing

@testable import HubServer

struct MemoryReturnTests {
    private static let megabyte = 1 << 20

    /// Looks at a process of these sizes in megabytes one after another; after each return it has the size beside it.
    private func looks(from first: Int, _ sizes: [(resident: Int, after: Int)]) -> [Bool] {
        var judge = MemoryReturn.Judge(resident: first * Self.megabyte)
        return sizes.map { size in
            let isDue = judge.isDue(resident: size.resident * Self.megabyte)
            if isDue { judge.returned(from: size.resident * Self.megabyte, resident: size.after * Self.megabyte) }
            return isDue
        }
    }

    @Test func `memory is given back after the process has grown, and again once it has grown again`() {
        let sizes = [(70, 0), (90, 60), (70, 0), (50, 0), (70, 50), (60, 0), (70, 60)]
        #expect(looks(from: 60, sizes) == [false, true, false, false, true, false, true])
    }

    @Test func `memory that was in use at the first return is given back later`() {
        let sizes = [(130, 130), (130, 130), (130, 130), (130, 130), (130, 60), (70, 0)]
        #expect(looks(from: 60, sizes) == [true, false, true, false, false, false])
        let later = sizes + [(130, 60), (70, 0)]
        #expect(looks(from: 60, later).suffix(2) == [true, false])
    }

    @Test func `a process that stays large is looked through every ten minutes at last`() {
        let returns = looks(from: 60, Array(repeating: (200, 200), count: 500)).count { $0 }
        #expect(returns == 6 + (500 - 61) / 30, "\(returns)")
    }

    @Test func `a large process is looked through after it has grown by an eighth`() {
        #expect(looks(from: 1_600, [(1_700, 0), (1_800, 1_800)]) == [false, true])
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
