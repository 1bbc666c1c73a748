import Glibc

/// What can be said of a file without opening it.
package enum HostFile {
    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The permission bits of a file or directory.
    ///
    /// - Throws: ``HostError`` when it cannot be looked at; ``HostError/isMissing`` when there is none.
    package static func permissions(_ path: String) throws(HostError) -> UInt32 {
        var facts = stat()
        guard stat(path, &facts) == 0 else { throw HostError("cannot look at", path, code: errno) }
        return facts.st_mode & 0o7777
    }
}
