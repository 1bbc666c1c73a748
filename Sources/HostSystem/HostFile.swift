import Glibc

/// Files as wholes.
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

    /// Replaces a file in one step; after a crash the old text or the new is there, on disk.
    package static func replace(
        _ path: String,
        with text: String,
        permissions: UInt32
    ) throws(HostError) {
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let temporary = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36)).tmp"
        let file = try Descriptor.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
        do throws(HostError) {
            try write(Array(text.utf8), to: file, path: path, permissions: permissions)
            guard rename(temporary, path) == 0 else { throw HostError("cannot replace", path, code: errno) }
        } catch {
            unlink(temporary)
            throw error
        }
        let parent = try Descriptor.open(directory, O_RDONLY | O_DIRECTORY)
        guard fsync(parent.number) == 0 else { throw HostError("cannot write", directory, code: errno) }
    }

    private static func write(_ bytes: [UInt8], to file: Descriptor, path: String, permissions: UInt32)
        throws(HostError)
    {
        // The mode given to open is subject to the umask.
        guard fchmod(file.number, permissions) == 0 else {
            throw HostError("cannot set the permissions of", path, code: errno)
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file.number, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw HostError("cannot write", path, code: errno) }
            rest = rest.dropFirst(count)
        }
        guard fsync(file.number) == 0 else { throw HostError("cannot write", path, code: errno) }
    }
}
