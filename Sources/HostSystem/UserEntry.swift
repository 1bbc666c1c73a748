import Glibc

/// A user's entry in the system's database.
struct UserEntry {
    let name: String
    let group: gid_t
    /// `nil` if it is not an absolute path.
    let home: String?

    /// - Returns: `nil` if the user has no entry.
    init?(_ user: uid_t) {
        var buffer = [CChar](repeating: 0, count: 16_384)
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        name = entry.pw_name.map { String(cString: $0) } ?? ""
        group = entry.pw_gid
        home = entry.pw_dir.map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
