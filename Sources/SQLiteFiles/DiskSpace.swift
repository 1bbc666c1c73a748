internal import Glibc

/// The space on the file system of a file or folder.
package struct DiskSpace: Sendable {
    /// Bytes of the whole file system.
    package let total: Int64
    /// Bytes that programs without privileges may still use.
    package let available: Int64
}

extension DiskSpace {
    /// Reads the space; `nil` if it is unknown, for example for a path that does not exist.
    package init?(at path: String) {
        var facts = statvfs()
        guard statvfs(path, &facts) == 0 else { return nil }
        let (unit, limit) = (UInt64(facts.f_frsize), UInt64(Int64.max))
        self.init(
            total: Int64(min(limit, UInt64(facts.f_blocks).multipliedReportingOverflow(by: unit).partialValue)),
            available: Int64(min(limit, UInt64(facts.f_bavail).multipliedReportingOverflow(by: unit).partialValue))
        )
    }
}
