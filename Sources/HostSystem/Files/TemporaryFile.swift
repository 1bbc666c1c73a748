import Glibc

/// The files that become others in one step: `NAME.PROCESS-RANDOM.tmp`.
enum TemporaryFile {
    private static let suffix = ".tmp"
    /// Seconds after which a file without a process in its name is nobody's; writing one takes far less.
    private static let abandonedAfter = 3_600

    static func name(for path: String) -> String {
        "\(path).\(getpid())-\(String(UInt64.random(in: .min ... .max), radix: 36))\(suffix)"
    }

    /// Removes what killed processes have left in a directory.
    static func removeAbandoned(in directory: String) {
        guard let folder = opendir(directory) else { return }
        defer { closedir(folder) }
        // What is removed meanwhile may show up or not: the names are collected first.
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasSuffix(suffix) { names.append(name) }
        }
        for name in names where isAbandoned(name, "\(directory)/\(name)") { unlink("\(directory)/\(name)") }
    }

    private static func isAbandoned(_ name: String, _ path: String) -> Bool {
        var facts = stat()
        guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_uid == geteuid() else {
            return false
        }
        let parts = name.dropLast(suffix.count).split(separator: ".")
        guard parts.count > 1, let mark = parts.last, isMark(mark) else { return false }
        // Earlier versions named no process.
        if let process = pid_t(mark.prefix { $0 != "-" }), process > 0, mark.contains("-") {
            if kill(process, 0) != 0, errno == ESRCH { return true }
        }
        return facts.st_mtim.tv_sec < time(nil) - abandonedAfter
    }

    /// True for what ``name(for:)`` puts before the suffix, and what earlier versions put there.
    private static func isMark(_ text: Substring) -> Bool {
        let parts = text.split(separator: "-", maxSplits: 1)
        return (1...2).contains(parts.count)
            && parts.allSatisfy { part in
                (1...13).contains(part.utf8.count)
                    && part.utf8.allSatisfy {
                        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (0x30...0x39).contains($0)
                    }
            }
    }
}
