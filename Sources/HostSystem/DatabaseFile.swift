/// How a SQLite file can be looked at and left as it is.
package enum DatabaseFile {
    /// The name to open it by, read-only.
    ///
    /// A reader of a file in write-ahead mode makes `-wal` and `-shm` beside it when they are missing, and leaves them
    /// there. Without a `-wal` everything is in the file itself, and it can be opened as one that does not change.
    ///
    /// Source: sqlite.org/uri.html, `immutable`. Needs a SQLite built with `SQLITE_USE_URI`, as Debian's is.
    package static func readingName(_ path: String) -> String {
        guard !HostFile.exists("\(path)-wal") else { return path }
        let escaped = path.utf8.reduce(into: "") { text, byte in
            let isPlain =
                byte > 0x20 && byte < 0x7F && ![UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains(byte)
            text += isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return "file:\(escaped)?immutable=1"
    }
}
