import Glibc

/// A user's entry in the system's database.
package struct UserEntry: Sendable {
    let name: String
    let user: uid_t
    let group: gid_t
    /// `nil` if it is not an absolute path.
    let home: String?

    /// - Returns: `nil` if the user has no entry.
    init?(_ user: uid_t) {
        self.init { getpwuid_r(user, $0, $1, $2, $3) }
    }

    /// - Returns: `nil` if there is no user of this name.
    package init?(named name: String) {
        self.init { getpwnam_r(name, $0, $1, $2, $3) }
    }

    private typealias Answer = UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>

    private init?(_ find: (UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int, Answer) -> Int32) {
        var buffer = [CChar](repeating: 0, count: 16_384)
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        guard find(&entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        name = entry.pw_name.map { String(cString: $0) } ?? ""
        (user, group) = (entry.pw_uid, entry.pw_gid)
        home = entry.pw_dir.map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// True if the owners, groups and modes of a file and of the folders above it let this user read it.
    ///
    /// Access lists and further groups of the user are not looked at.
    ///
    /// - Throws: ``HostError`` if the file or a folder cannot be examined.
    package func mayRead(_ path: String) throws(HostError) -> Bool {
        guard let resolved = realpath(path, nil) else { throw HostError("cannot examine", path, code: errno) }
        defer { free(resolved) }
        var rest = String(cString: resolved)
        guard try has(S_IRUSR, on: rest) else { return false }
        while let slash = rest.lastIndex(of: "/"), slash != rest.startIndex {
            rest = String(rest[..<slash])
            guard try has(S_IXUSR, on: rest) else { return false }
        }
        return true
    }

    /// `permission` is the bit of owners.
    private func has(_ permission: mode_t, on path: String) throws(HostError) -> Bool {
        var facts = stat()
        guard stat(path, &facts) == 0 else { throw HostError("cannot examine", path, code: errno) }
        if facts.st_uid == user { return facts.st_mode & permission != 0 }
        return facts.st_mode & (permission >> (facts.st_gid == group ? 3 : 6)) != 0
    }
}
