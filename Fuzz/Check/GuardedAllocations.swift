import CLibXML2
import Glibc

/// libxml2's memory, in which a use after free ends the program.
///
/// libxml2 itself is not instrumented, so AddressSanitizer does not see its reads, and a block that was freed too early
/// most often still holds what it held. Here a large block lies in pages of its own, right before a page that nobody
/// may touch; freed, it is closed to everybody for a while before its address is used again. Small blocks are malloc's,
/// which AddressSanitizer fills when they are freed (`max_free_fill_size`).
package enum GuardedAllocations {
    /// Blocks from here on have pages of their own.
    private static let guardedBytes = 2_048
    /// Freed blocks that stay closed.
    private static let quarantined = 64
    private static let page = 4_096
    /// In front of each block: its size, and the start and size of its mapping (0 for one of malloc's).
    private static let header = 32

    nonisolated(unsafe) private static var quarantine: [(UnsafeMutableRawPointer, Int)] = []
    nonisolated(unsafe) private static var oldest = 0

    /// Set before libxml2 allocates anything.
    package static let installed: Bool =
        xmlMemSetup(
            { GuardedAllocations.free($0) },
            { GuardedAllocations.allocate(Int(bitPattern: UInt($0))) },
            { GuardedAllocations.resize($0, Int(bitPattern: UInt($1))) },
            { GuardedAllocations.duplicate($0) }
        ) == 0

    private static func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        guard size >= guardedBytes else {
            guard let start = malloc(size + header) else { return nil }
            return remember(start + header, size, start, 0)
        }
        let rounded = (size + 15) & ~15
        let used = (rounded + header + page - 1) / page * page
        let access = PROT_READ | PROT_WRITE
        guard let start = mmap(nil, used + page, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), start != MAP_FAILED else {
            return nil
        }
        mprotect(start + used, page, PROT_NONE)
        return remember(start + used - rounded, size, start, used + page)
    }

    private static func remember(
        _ block: UnsafeMutableRawPointer,
        _ size: Int,
        _ start: UnsafeMutableRawPointer,
        _ mapped: Int
    ) -> UnsafeMutableRawPointer {
        let words = (block - header).assumingMemoryBound(to: Int.self)
        words[0] = size
        words[1] = Int(bitPattern: start)
        words[2] = mapped
        return block
    }

    private static func free(_ block: UnsafeMutableRawPointer?) {
        guard let block else { return }
        let words = (block - header).assumingMemoryBound(to: Int.self)
        guard let start = UnsafeMutableRawPointer(bitPattern: words[1]) else { return }
        let mapped = words[2]
        guard mapped > 0 else { return Glibc.free(start) }
        madvise(start, mapped, MADV_DONTNEED)
        mprotect(start, mapped, PROT_NONE)
        guard quarantine.count == quarantined else { return quarantine.append((start, mapped)) }
        munmap(quarantine[oldest].0, quarantine[oldest].1)
        quarantine[oldest] = (start, mapped)
        oldest = (oldest + 1) % quarantined
    }

    private static func resize(_ block: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer? {
        guard let block else { return allocate(size) }
        guard let moved = allocate(size) else { return nil }
        memcpy(moved, block, min(size, (block - header).assumingMemoryBound(to: Int.self)[0]))
        free(block)
        return moved
    }

    private static func duplicate(_ text: UnsafePointer<CChar>?) -> UnsafeMutablePointer<CChar>? {
        guard let text else { return nil }
        let size = strlen(text) + 1
        guard let copy = allocate(size) else { return nil }
        memcpy(copy, text, size)
        return copy.assumingMemoryBound(to: CChar.self)
    }
}
