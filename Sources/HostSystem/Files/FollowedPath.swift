internal import Glibc

/// A path as the kernel follows it: through each folder and each symbolic link.
package struct FollowedPath: Sendable, Equatable {
    /// The kernel's limit of symbolic links in one path (`MAXSYMLINKS`).
    private static let maximumLinks = 40

    /// The real folders in which names are looked up, those of links included; a reader must be allowed to search them
    /// all.
    package private(set) var folders: [String] = []
    /// The path of each name that is looked up, below a real folder; the name itself may be that of a link.
    package private(set) var names: [String] = []
    /// The real path of the file.
    package let file: String

    /// - Parameter path: An absolute path, or one below the working directory.
    /// - Throws: ``HostError`` if a name on the way does not exist or cannot be examined.
    package init(_ path: String) throws(HostError) {
        var real: [Substring] = []
        var rest = try HostFile.absolute(path, "cannot examine").split(separator: "/").reversed() as [Substring]
        var links = 0
        while let name = rest.popLast() {
            let folder = "/" + real.joined(separator: "/")
            if folders.last != folder { folders.append(folder) }
            if name == "." { continue }
            if name == ".." {
                _ = real.popLast()
                continue
            }
            let next = folder == "/" ? "/\(name)" : "\(folder)/\(name)"
            names.append(next)
            guard let target = try Self.target(of: next, in: path) else {
                real.append(name)
                continue
            }
            links += 1
            guard links <= Self.maximumLinks else { throw HostError("cannot examine", path, code: ELOOP) }
            if target.hasPrefix("/") { real = [] }
            rest += target.split(separator: "/").reversed()
        }
        file = "/" + real.joined(separator: "/")
    }

    /// - Returns: The target of a symbolic link; `nil` for anything else.
    private static func target(of name: String, in path: String) throws(HostError) -> String? {
        var facts = stat()
        guard lstat(name, &facts) == 0 else { throw HostError("cannot examine", path, code: errno) }
        guard facts.st_mode & S_IFMT == S_IFLNK else { return nil }
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(name, &buffer, buffer.count)
        guard count >= 0 else { throw HostError("cannot examine", path, code: errno) }
        return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
