import Glibc

/// State of the package's services, which commands of administrators find.
extension StateDirectory {
    /// The directory of the services' state directories (`StateDirectory=newswire/…` in the units).
    package static let services = "/var/lib/newswire"

    /// Finds the directory that a role of this machine uses, for commands that work beside it; creates nothing.
    ///
    /// It is the directory of ``locate(role:profile:override:environment:)`` if the caller or the environment names it,
    /// or if it contains one of `files`; else that of the package's service, if there is one; else the first one.
    /// If it `mustBeUsable`, the service of another user does not count.
    ///
    /// - Throws: ``HostError`` if the name is invalid.
    package static func existing(
        role: String,
        profile: String? = nil,
        override: String? = nil,
        environment: [String: String],
        files: [String],
        mustBeUsable: Bool = false,
        services: String = StateDirectory.services
    ) throws(HostError) -> StateDirectory {
        let own = try path(role: role, profile: profile, override: override, environment: environment)
        let isNamed =
            override?.isEmpty == false || environment["STATE_DIRECTORY"]?.hasPrefix("/") == true
            || environment["XDG_STATE_HOME"]?.hasPrefix("/") == true
        if isNamed || files.contains(where: { HostFile.exists("\(own)/\($0)") }) { return StateDirectory(path: own) }
        let service = StateDirectory(path: "\(services)/\(role)" + (profile.map { "/\($0)" } ?? ""))
        var facts = stat()
        let isThere = lstat(service.path, &facts) == 0 && !(mustBeUsable && service.foreignOwner != nil)
        return isThere ? service : StateDirectory(path: own)
    }

    /// The name of the owner of a directory that this user may not use; `nil` if it may, or if there is none.
    package var foreignOwner: String? {
        var facts = stat()
        guard access(path, R_OK | W_OK | X_OK) != 0, errno == EACCES, stat(path, &facts) == 0 else { return nil }
        return UserEntry(facts.st_uid)?.name ?? "user \(facts.st_uid)"
    }
}
