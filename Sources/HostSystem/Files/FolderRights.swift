import Glibc

/// The rights with which a program that root runs works in another user's folder.
///
/// A folder's owner can put a link under any name in it. While a program has only the owner's rights, it can do nothing
/// through such a link that the owner could not do without it, and the files that it creates belong to the owner.
package enum FolderRights {
    /// Takes the rights of a folder's owner; does nothing for a process that root did not start.
    ///
    /// The rights apply to all threads of the process. Another call for a folder of root's restores root's rights.
    ///
    /// - Throws: ``HostError`` if the folder cannot be examined or the rights cannot be taken.
    package static func take(ownerOf folder: String) throws(HostError) {
        guard getuid() == 0 else { return }
        // Only root can examine every folder and change rights.
        try takeOwn()
        var facts = stat()
        guard stat(folder, &facts) == 0 else { throw HostError("cannot examine", folder, code: errno) }
        guard facts.st_uid != 0 else { return }
        try set(uid: facts.st_uid, gid: group(of: facts), folder)
    }

    /// Restores root's own rights in a process that root started.
    package static func takeOwn() throws(HostError) {
        guard getuid() == 0, geteuid() != 0 else { return }
        try set(uid: 0, gid: 0, "/")
    }

    /// Calls `work` with the rights of a folder's owner, and restores root's own afterwards.
    package static func with<Value>(ownerOf folder: String, _ work: () throws -> Value) throws -> Value {
        try take(ownerOf: folder)
        let result = Result { try work() }
        try takeOwn()
        return try result.get()
    }

    /// Takes the rights of a folder's owner permanently.
    package static func keep(ownerOf folder: String) throws(HostError) {
        try take(ownerOf: folder)
        let (uid, gid) = (geteuid(), getegid())
        guard getuid() == 0, uid != 0 else { return }
        try set(uid: 0, gid: 0, folder)
        var groups = [gid]
        guard setgroups(1, &groups) == 0, setgid(gid) == 0, setuid(uid) == 0, getuid() == uid, setuid(0) != 0 else {
            throw HostError("cannot assume the rights of the owner of", folder, code: errno)
        }
    }

    /// True if a path is a plain file of root's without other names.
    package static func isRoots(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG && facts.st_uid == 0 && facts.st_nlink == 1
    }

    private static func set(uid: uid_t, gid: gid_t, _ folder: String) throws(HostError) {
        var groups = [gid]
        guard geteuid() == 0 || seteuid(0) == 0, setgroups(1, &groups) == 0, setegid(gid) == 0,
            uid == 0 || seteuid(uid) == 0
        else { throw HostError("cannot assume the rights of the owner of", folder, code: errno) }
    }

    /// Returns the user's own group, so that a folder of group root does not leave us in that group.
    private static func group(of facts: stat) -> gid_t {
        UserEntry(facts.st_uid)?.group ?? facts.st_gid
    }
}
