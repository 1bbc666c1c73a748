/// Small files with secrets: for this user only, and either complete or absent.
package enum PrivateFile {
    /// Replaces the file in one step; after a crash, the old or the new text is on disk.
    package static func write(_ text: String, to path: String) throws(HostError) {
        try HostFile.replace(path, with: text, permissions: 0o600)
    }

    /// Reads a whole file of at most `limit` bytes; a longer one is an error.
    ///
    /// - Throws: ``HostError`` with ``HostError/isMissing`` if there is no such file.
    package static func read(_ path: String, limit: Int = 65_536) throws(HostError) -> String {
        guard let text = String(validating: try bytes(path, limit: limit), as: UTF8.self) else {
            throw HostError("cannot read", path, because: "not UTF-8 text")
        }
        return text
    }

    /// Reads a file that need not be text, like ``read(_:limit:)``.
    package static func bytes(_ path: String, limit: Int) throws(HostError) -> [UInt8] {
        guard let bytes = try HostFile.bytes(path, limit: limit) else {
            throw HostError("cannot read", path, because: "larger than \(limit) bytes")
        }
        return bytes
    }
}
