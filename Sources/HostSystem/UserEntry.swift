package import Glibc

/// A user's entry in the system's database.
package struct UserEntry: Sendable {
    let name: String
    package let user: uid_t
    package let group: gid_t
    /// `nil` if it is not an absolute path.
    let home: String?

    init(name: String, user: uid_t, group: gid_t, home: String? = nil) {
        (self.name, self.user, self.group, self.home) = (name, user, group, home)
    }

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

    /// The user's own group, and all others that the system's database has the user in.
    var groups: Set<gid_t> {
        var count: Int32 = 64
        while true {
            var groups = [gid_t](repeating: 0, count: Int(count))
            let size = count
            if getgrouplist(name, group, &groups, &count) >= 0 { return Set(groups.prefix(Int(count))) }
            count = max(count, size * 2)
        }
    }

    /// True if owners, groups and modes let this user read a file.
    ///
    /// Those of the file count, and those of each folder on the way to it, also through symbolic links. Access lists
    /// are not looked at.
    ///
    /// - Throws: ``HostError`` if the file or a folder cannot be examined.
    package func mayRead(_ path: String) throws(HostError) -> Bool {
        try mayRead(path, in: groups)
    }

    /// Returns ``mayRead(_:)`` for a user of these groups.
    func mayRead(_ path: String, in groups: Set<gid_t>) throws(HostError) -> Bool {
        let followed = try FollowedPath(path)
        for folder in followed.folders {
            guard try has(S_IXUSR, on: folder, in: groups) else { return false }
        }
        return try has(S_IRUSR, on: followed.file, in: groups)
    }

    /// `permission` is the bit of owners.
    private func has(_ permission: mode_t, on path: String, in groups: Set<gid_t>) throws(HostError) -> Bool {
        var facts = stat()
        guard stat(path, &facts) == 0 else { throw HostError("cannot examine", path, code: errno) }
        if facts.st_uid == user { return facts.st_mode & permission != 0 }
        return facts.st_mode & (permission >> (groups.contains(facts.st_gid) ? 3 : 6)) != 0
    }
}
