package import Glibc

/// Names of users and groups of this machine.
package enum SystemAccount {
    /// Returns the name of a user, or the number of one without a name.
    package static func name(_ user: uid_t) -> String { UserEntry(user)?.name ?? "\(user)" }

    /// Returns the name of a group, or the number of one without a name.
    package static func groupName(_ group: gid_t) -> String {
        var buffer = [CChar](repeating: 0, count: 16_384)
        var entry = Glibc.group()
        var found: UnsafeMutablePointer<Glibc.group>?
        guard getgrgid_r(group, &entry, &buffer, buffer.count, &found) == 0, found != nil, let name = entry.gr_name
        else { return "\(group)" }
        return String(cString: name)
    }
}
