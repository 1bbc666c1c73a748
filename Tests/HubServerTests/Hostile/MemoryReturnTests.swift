import Glibc
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

    /// The number of pages of this process, by their addresses, that take memory now.
    private func resident(_ pages: Set<UInt>) -> Int {
        pages.count { page in
            var isResident: UInt8 = 0
            // A page that was unmapped is an error, and takes none.
            return mincore(UnsafeMutableRawPointer(bitPattern: page), 1, &isResident) == 0 && isResident & 1 == 1
        }
    }

    @Test func `freed memory below a block that is in use goes back to the system`() {
        var blocks = (0..<40_000).map { _ in [UInt8](repeating: 1, count: 2_000) }
        let last = [UInt8](repeating: 1, count: 64)
        let size = UInt(sysconf(CInt(_SC_PAGESIZE)))
        // The size of the whole process would depend on the tests beside this one.
        let pages = Set(blocks.map { $0.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) / size * size } })
        let full = resident(pages)
        #expect(full == pages.count && full > 10_000)
        blocks = []
        ProcessMemory.returnFreed()
        let after = resident(pages)
        #expect(after < full / 2, "\(full) before, \(after) after")
        #expect(last.count == 64 && blocks.isEmpty)
    }
}
