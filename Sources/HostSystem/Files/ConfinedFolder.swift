import Glibc

/// A folder that confines the reading and writing of files: names cannot lead out of it, and links are not followed.
///
/// Names are relative, with `/` between their parts. Calls block.
package struct ConfinedFolder: Sendable, Equatable {
    package let path: String

    /// Names a folder that need not exist yet; it belongs to this user, and may be reached through links.
    package init(_ path: String) { self.path = path }

    /// Returns the path of a file in it, for people.
    package func path(of name: String) -> String { "\(path)/\(name)" }

    package func openForReading(_ name: String) throws(HostError) -> ConfinedFile {
        try open(name, O_RDONLY, making: false)
    }

    /// Opens a file for writing, creating it and the folders that lead to it for this user only.
    ///
    /// The file's name is on disk when the call returns.
    package func openForWriting(_ name: String) throws(HostError) -> ConfinedFile {
        try open(name, O_RDWR | O_CREAT, making: true)
    }

    /// Removes files of a folder inside, and the folder if it is then empty; missing files are not an error.
    package func remove(_ files: [String], of folder: String) throws(HostError) {
        let parts = try Self.parts(folder)
        let parent: Descriptor
        let directory: Descriptor
        do throws(HostError) {
            parent = try descend(parts.dropLast(), making: false)
            directory = try Self.openFolder(parts[parts.count - 1], in: parent, path: path(of: folder))
        } catch {
            if error.isMissing { return }
            throw error
        }
        for file in files where unlinkat(directory.number, file, 0) != 0 && errno != ENOENT {
            throw HostError("cannot remove", path(of: "\(folder)/\(file)"), code: errno)
        }
        guard unlinkat(parent.number, parts[parts.count - 1], AT_REMOVEDIR) == 0 || [ENOTEMPTY, EEXIST].contains(errno)
        else { throw HostError("cannot remove", path(of: folder), code: errno) }
    }

    // MARK: Names

    private static func parts(_ name: String) throws(HostError) -> [String] {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard !parts.isEmpty, parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." && !$0.utf8.contains(0) })
        else { throw HostError("cannot use", name, because: "not the name of a file in this folder") }
        return parts
    }

    private func open(_ name: String, _ flags: Int32, making: Bool) throws(HostError) -> ConfinedFile {
        let parts = try Self.parts(name)
        let folder = try descend(parts.dropLast(), making: making)
        // Opening a pipe would block.
        let options = flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let number = uninterrupted { openat(folder.number, parts[parts.count - 1], options, 0o600) }
        guard number >= 0 else { throw Self.failure("cannot open", path(of: name), errno) }
        let file = try ConfinedFile(Descriptor(number), path: path(of: name))
        guard !making || fsync(folder.number) == 0 else {
            throw HostError("cannot write", path(of: name), code: errno)
        }
        return file
    }

    private func descend(_ parts: ArraySlice<String>, making: Bool) throws(HostError) -> Descriptor {
        if making {
            if mkdir(path, 0o700) == 0 {
                try HostFile.syncFolder(of: path)
            } else if errno != EEXIST {
                throw HostError("cannot create", path, code: errno)
            }
        }
        var folder = try Descriptor.open(path, O_RDONLY | O_DIRECTORY)
        var reached = path
        for part in parts {
            reached += "/\(part)"
            if making {
                let isNew = mkdirat(folder.number, part, 0o700) == 0
                guard isNew ? fsync(folder.number) == 0 : errno == EEXIST else {
                    throw HostError("cannot create", reached, code: errno)
                }
            }
            folder = try Self.openFolder(part, in: folder, path: reached)
        }
        return folder
    }

    private static func openFolder(_ name: String, in folder: Descriptor, path: String) throws(HostError) -> Descriptor
    {
        let number = uninterrupted { openat(folder.number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        guard number >= 0 else { throw failure("cannot open", path, errno) }
        return Descriptor(number)
    }

    private static func failure(_ attempt: String, _ path: String, _ code: Int32) -> HostError {
        code == ELOOP
            ? HostError(attempt, path, because: "it is a symbolic link, which is not followed here")
            : HostError(attempt, path, code: code)
    }
}

/// An open file of a ``ConfinedFolder``.
package final class ConfinedFile: Sendable {
    /// Values that show whether a file is still the same.
    package struct Identity: Sendable, Equatable, Codable {
        package let inode: UInt64
        package let bytes: Int64
        /// Seconds since 1970 and the additional nanoseconds: a single number of nanoseconds ends in 2262, and a file's
        /// time can be set to any value.
        package let changedAt: Int64
        package let nanoseconds: Int64
    }

    package let path: String
    private let descriptor: Descriptor

    fileprivate init(_ descriptor: Descriptor, path: String) throws(HostError) {
        self.descriptor = descriptor
        self.path = path
        var facts = stat()
        guard fstat(descriptor.number, &facts) == 0 else { throw HostError("cannot examine", path, code: errno) }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            throw HostError("cannot open", path, because: "not a regular file")
        }
    }

    package func identity() throws(HostError) -> Identity {
        var facts = stat()
        guard fstat(descriptor.number, &facts) == 0 else { throw HostError("cannot examine", path, code: errno) }
        return Identity(
            inode: UInt64(facts.st_ino),
            bytes: Int64(facts.st_size),
            changedAt: Int64(facts.st_mtim.tv_sec),
            nanoseconds: Int64(facts.st_mtim.tv_nsec)
        )
    }

    /// Reads up to `count` bytes; fewer mean the end of the file at this moment.
    package func read(_ count: Int, at offset: Int64) throws(HostError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let read = bytes.withUnsafeMutableBytes { buffer in
                let rest = buffer.baseAddress.map { $0 + filled }
                return uninterrupted { pread(descriptor.number, rest, count - filled, off_t(offset) + filled) }
            }
            guard read >= 0 else { throw HostError("cannot read", path, code: errno) }
            if read == 0 { break }
            filled += read
        }
        bytes.removeLast(count - filled)
        return bytes
    }

    /// Writes at an offset, truncates the file after the bytes, and returns when it is on disk.
    package func write(_ bytes: [UInt8], at offset: Int64) throws(HostError) {
        var rest = bytes[...]
        var place = off_t(offset)
        while !rest.isEmpty {
            let written = uninterrupted {
                rest.withUnsafeBytes { pwrite(descriptor.number, $0.baseAddress, $0.count, place) }
            }
            guard written > 0 else { throw HostError("cannot write", path, code: errno) }
            rest = rest.dropFirst(written)
            place += written
        }
        guard ftruncate(descriptor.number, place) == 0, fsync(descriptor.number) == 0 else {
            throw HostError("cannot write", path, code: errno)
        }
    }
}
