import Glibc

/// Files that replace others in one step: `NAME.PROCESS-RANDOM.tmp`, in earlier versions `NAME.RANDOM.tmp`.
enum TemporaryFile {
    private static let suffix = ".tmp"
    /// Seconds after which no process still writes a file; writing one takes far less.
    private static let abandonedAfter = 3_600
    /// Digits of the largest random number, in base 36.
    private static let randomDigits = 13
    /// Digits of nearly all random numbers: a shorter word, which an earlier version would not have written, is part of
    /// the name.
    private static let fewestRandomDigits = 11

    static func name(for path: String) -> String {
        "\(path).\(getpid())-\(String(UInt64.random(in: .min ... .max), radix: 36))\(suffix)"
    }

    /// Removes the files that killed processes have left in a directory.
    static func removeAbandoned(in directory: String) {
        guard let folder = opendir(directory) else { return }
        defer { closedir(folder) }
        // The names are collected first, because a removal during the scan can disturb it.
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
        guard parts.count > 1, let mark = parts.last, let process = process(in: mark) else { return false }
        if process > 0, kill(process, 0) != 0, errno == ESRCH { return true }
        return facts.st_mtim.tv_sec < time(nil) - abandonedAfter
    }

    /// Returns the process that ``name(for:)`` put before the suffix, or 0 for a name of an earlier version.
    ///
    /// - Returns: `nil` for every other name: an operator's copy such as `hub.sqlite.tmp` must stay.
    private static func process(in mark: Substring) -> pid_t? {
        let parts = mark.split(separator: "-", omittingEmptySubsequences: false)
        guard let random = parts.last, random.utf8.count <= randomDigits, random.utf8.allSatisfy(isDigit) else {
            return nil
        }
        if parts.count == 1 { return random.utf8.count >= fewestRandomDigits ? 0 : nil }
        guard parts.count == 2, !random.isEmpty, parts[0].utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return pid_t(parts[0])
    }

    /// True for a digit of base 36, as `String(_:radix:)` writes it.
    private static func isDigit(_ byte: UInt8) -> Bool {
        0x30...0x39 ~= byte || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
    }
}
