import Glibc

/// Small files with secrets in them: for this user only, and whole or not there.
package enum PrivateFile {
    /// Replaces the file in one step; after a crash the old text or the new is there, on disk.
    package static func write(_ text: String, to path: String) throws(HostError) {
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let temporary = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36)).tmp"
        let file = try Descriptor.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
        do throws(HostError) {
            try write(Array(text.utf8), to: file, path: path)
            guard rename(temporary, path) == 0 else { throw HostError("cannot replace", path, code: errno) }
        } catch {
            unlink(temporary)
            throw error
        }
        let parent = try Descriptor.open(directory, O_RDONLY | O_DIRECTORY)
        guard fsync(parent.number) == 0 else { throw HostError("cannot write", directory, code: errno) }
    }

    /// Reads a whole file of at most `limit` bytes; a longer one is an error and not cut.
    ///
    /// - Throws: ``HostError`` with ``HostError/isMissing`` when there is no such file.
    package static func read(_ path: String, limit: Int = 65_536) throws(HostError) -> String {
        let file = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
        var facts = stat()
        guard fstat(file.number, &facts) == 0 else { throw HostError("cannot look at", path, code: errno) }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            throw HostError("cannot read", path, because: "not a regular file")
        }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = Glibc.read(file.number, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw HostError("cannot read", path, code: errno) }
            if count == 0 { break }
            bytes.append(contentsOf: piece[..<count])
            guard bytes.count <= limit else {
                throw HostError("cannot read", path, because: "larger than \(limit) bytes")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw HostError("cannot read", path, because: "not UTF-8 text")
        }
        return text
    }

    private static func write(_ bytes: [UInt8], to file: Descriptor, path: String) throws(HostError) {
        // The mode given to open is subject to the umask.
        guard fchmod(file.number, 0o600) == 0 else { throw HostError("cannot protect", path, code: errno) }
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
