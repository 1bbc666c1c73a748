import Glibc

/// Operations on whole files.
package enum HostFile {
    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Reads a whole regular file; anything else, such as a pipe, could be waited for without limit.
    ///
    /// - Returns: `nil` if the file has more than `limit` bytes.
    /// - Throws: ``HostError``, with ``HostError/isMissing`` if there is no such file.
    package static func bytes(_ path: String, limit: Int) throws(HostError) -> [UInt8]? {
        let file = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
        var facts = stat()
        guard fstat(file.number, &facts) == 0 else { throw HostError("cannot examine", path, code: errno) }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            throw HostError("cannot read", path, because: "not a regular file")
        }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = uninterrupted { Glibc.read(file.number, &piece, piece.count) }
            guard count >= 0 else { throw HostError("cannot read", path, code: errno) }
            if count == 0 { return bytes }
            bytes.append(contentsOf: piece[..<count])
            guard bytes.count <= limit else { return nil }
        }
    }

    /// Returns the permission bits of a file or directory.
    ///
    /// - Throws: ``HostError`` if it cannot be examined; ``HostError/isMissing`` if there is none.
    package static func permissions(_ path: String) throws(HostError) -> UInt32 {
        var facts = stat()
        guard stat(path, &facts) == 0 else { throw HostError("cannot examine", path, code: errno) }
        return facts.st_mode & 0o7777
    }

    /// Removes a file if it exists; after a power cut it is still gone.
    package static func remove(_ path: String) throws(HostError) {
        guard unlink(path) == 0 else {
            if errno == ENOENT { return }
            throw HostError("cannot remove", path, code: errno)
        }
        try syncFolder(of: path)
    }

    /// Renames a complete file, replacing another one; returns when the content and the new name are on disk.
    ///
    /// Both names are in the same folder.
    package static func move(_ file: String, to path: String) throws(HostError) {
        try sync(file)
        guard rename(file, path) == 0 else { throw HostError("cannot replace", path, code: errno) }
        try syncFolder(of: path)
    }

    /// Returns when the content, mode and owner of a file are on disk.
    package static func sync(_ path: String) throws(HostError) {
        let file = try Descriptor.open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
        guard fsync(file.number) == 0 else { throw HostError("cannot write", path, code: errno) }
    }

    /// Returns when new, changed and removed names in the folder of a file are on disk.
    package static func syncFolder(of path: String) throws(HostError) {
        let directory = directory(of: path)
        let parent: Descriptor
        do throws(HostError) {
            parent = try Descriptor.open(directory, O_RDONLY | O_DIRECTORY)
        } catch {
            // A folder that this user may change but not read.
            guard error.code == EACCES else { throw error }
            return Glibc.sync()
        }
        // Some network file systems have nothing to sync in a folder.
        guard fsync(parent.number) == 0 || [EINVAL, ENOTSUP].contains(errno) else {
            throw HostError("cannot write", directory, code: errno)
        }
    }

    /// The content and mode of a file to be written.
    package struct Content: Sendable {
        package let path: String
        package let text: String
        package let permissions: UInt32

        package init(path: String, text: String, permissions: UInt32) {
            self.path = path
            self.text = text
            self.permissions = permissions
        }
    }

    /// Replaces the text of a file like ``replace(_:with:permissions:)``; its mode and, for root, its owner and group stay.
    ///
    /// - Parameters:
    ///   - path: The file, not a link.
    ///   - text: The new text.
    ///   - permissions: The mode of a file that does not exist yet.
    /// - Throws: ``HostError``; the file then has the old text, or the new one with another owner.
    package static func rewrite(_ path: String, with text: String, permissions: UInt32) throws(HostError) {
        var former = stat()
        guard stat(path, &former) == 0 else { return try replace(path, with: text, permissions: permissions) }
        try replace(path, with: text, permissions: former.st_mode & 0o7777)
        guard geteuid() == 0, former.st_uid != 0 || former.st_gid != 0 else { return }
        guard lchown(path, former.st_uid, former.st_gid) == 0 else {
            throw HostError("cannot give back to its owner", path, code: errno)
        }
    }

    /// Replaces a file in one step; after a crash, the old or the new text is on disk.
    package static func replace(
        _ path: String,
        with text: String,
        permissions: UInt32
    ) throws(HostError) {
        try replace([Content(path: path, text: text, permissions: permissions)])
    }

    /// Replaces files, each in one step, once all of them are on disk under other names.
    ///
    /// The usual failures, above all a full disk, happen before the first file is replaced.
    package static func replace(_ files: [Content]) throws(HostError) {
        var staged: [(temporary: String, path: String)] = []
        do throws(HostError) {
            for file in files {
                let temporary = TemporaryFile.name(for: file.path)
                let descriptor = try Descriptor.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
                staged.append((temporary, file.path))
                try write(Array(file.text.utf8), to: descriptor, path: file.path, permissions: file.permissions)
            }
            for (temporary, path) in staged where rename(temporary, path) != 0 {
                throw HostError("cannot replace", path, code: errno)
            }
        } catch {
            for (temporary, _) in staged { unlink(temporary) }
            throw error
        }
        var folders: Set<String> = []
        for file in files where folders.insert(directory(of: file.path)).inserted { try syncFolder(of: file.path) }
    }

    /// Makes a path absolute, by the working directory.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - attempt: The beginning of the error's text, such as `cannot open`.
    /// - Returns: The path itself if it is absolute, else the path below the working directory.
    /// - Throws: ``HostError`` if the working directory cannot be determined.
    static func absolute(_ path: String, _ attempt: String) throws(HostError) -> String {
        if path.hasPrefix("/") { return path }
        guard let current = getcwd(nil, 0) else { throw HostError(attempt, path, code: errno) }
        defer { free(current) }
        return "\(String(cString: current))/\(path)"
    }

    private static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
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
            let count = uninterrupted { rest.withUnsafeBytes { Glibc.write(file.number, $0.baseAddress, $0.count) } }
            guard count > 0 else { throw HostError("cannot write", path, code: errno) }
            rest = rest.dropFirst(count)
        }
        guard fsync(file.number) == 0 else { throw HostError("cannot write", path, code: errno) }
    }
}
