import Formats
import Glibc

/// The directory for the persistent files of one role of the program: absolute, writable, and closed to other users if
/// we created it.
package struct StateDirectory: Sendable, Equatable {
    package let path: String

    /// Finds the directory, and creates it if necessary.
    ///
    /// In this order: `override`; `$STATE_DIRECTORY`, which systemd sets for one unit and so needs no role or profile;
    /// `$XDG_STATE_HOME/newswire/<role>[/<profile>]`; `~/.local/state/newswire/<role>[/<profile>]`.
    ///
    /// A role is one path segment, such as `hub`; a profile 1 to 64 of `A-Z a-z 0-9 . _ -`, not beginning with a dot.
    ///
    /// - Throws: If the name is invalid, or the directory cannot be created or written to.
    ///
    /// Source: systemd.exec(5), `StateDirectory=`; XDG Base Directory Specification 0.8.
    package static func locate(
        role: String,
        profile: String? = nil,
        override: String? = nil,
        environment: [String: String]
    ) throws(HostError) -> StateDirectory {
        let path = try path(role: role, profile: profile, override: override, environment: environment)
        try makeDirectory(path)
        guard access(path, R_OK | W_OK | X_OK) == 0 else {
            throw HostError("cannot use state directory", path, code: errno, hint: "it must be writable by this user")
        }
        return StateDirectory(path: path)
    }

    /// Removes the temporary files that killed processes have left here.
    package func removeLeftovers() { TemporaryFile.removeAbandoned(in: path) }

    /// Returns a name for a temporary file in it, which ``removeLeftovers()`` removes once this process has ended.
    package func temporaryFile(for name: String) -> String { TemporaryFile.name(for: file(name)) }

    /// Returns the path of a file in it.
    package func file(_ name: String) -> String {
        "\(path)/\(name)"
    }

    /// Returns the directory that ``locate(role:profile:override:environment:)`` would find; creates nothing.
    package static func path(
        role: String,
        profile: String? = nil,
        override: String? = nil,
        environment: [String: String]
    ) throws(HostError) -> String {
        if let profile, !isProfile(profile) {
            throw HostError(
                "cannot use profile",
                profile,
                because: "not a profile name",
                hint: "1 to \(maximumProfileLength) letters, digits, '.', '_' or '-', not beginning with '.'"
            )
        }
        if let override, !override.isEmpty { return try HostFile.absolute(override, "cannot resolve") }
        if let unit = environment["STATE_DIRECTORY"]?.split(separator: ":").first, unit.hasPrefix("/") {
            return String(unit)
        }
        let tail = "newswire/\(role)" + (profile.map { "/\($0)" } ?? "")
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return "\(state)/\(tail)" }
        guard let home = environment["HOME"].flatMap({ $0.hasPrefix("/") ? $0 : nil }) ?? UserEntry(getuid())?.home
        else {
            throw HostError(
                "cannot find a state directory for",
                role,
                because: "this user has no home directory",
                hint: "set STATE_DIRECTORY"
            )
        }
        return "\(home)/.local/state/\(tail)"
    }

    /// Creates the directory and missing ones above it, all closed to other users.
    private static func makeDirectory(_ path: String) throws(HostError) {
        if mkdir(path, 0o700) == 0 { return try HostFile.syncFolder(of: path) }
        switch errno {
        case EEXIST:
            var facts = stat()
            guard stat(path, &facts) == 0 else { throw HostError("cannot examine", path, code: errno) }
            guard facts.st_mode & S_IFMT == S_IFDIR else {
                throw HostError("cannot use state directory", path, code: ENOTDIR)
            }
        case ENOENT:
            guard let slash = path.dropLast().lastIndex(of: "/"), slash != path.startIndex else {
                throw HostError("cannot create state directory", path, code: ENOENT)
            }
            try makeDirectory(String(path[..<slash]))
            // Another process may have created it in between.
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw HostError("cannot create state directory", path, code: errno)
            }
            try HostFile.syncFolder(of: path)
        case let code: throw HostError("cannot create state directory", path, code: code)
        }
    }

    private static func isProfile(_ text: String) -> Bool {
        (1...maximumProfileLength).contains(text.utf8.count) && !text.hasPrefix(".")
            && text.hasOnlyLettersAndDigits(or: "._-")
    }

    private static let maximumProfileLength = 64
}
