import CHostSystem
import Foundation
import Glibc

/// The memory of this process.
package enum ProcessMemory {
    /// Bytes in RAM; `nil` if Linux does not report them.
    package static var residentBytes: Int? {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return pages.map { $0 * Int(getpagesize()) }
    }

    /// Gives memory that has been freed back to the system.
    ///
    /// The C library otherwise keeps it: it gives back only what is at the end of a heap, below which one small block
    /// is enough to keep all that a crowd of clients has used.
    package static func returnFreed() { _ = malloc_trim(0) }
}
