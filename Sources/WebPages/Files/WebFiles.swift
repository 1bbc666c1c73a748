import CWebFiles

/// The files of the pages, embedded in the program.
enum WebFiles {
    /// The content of a file; empty only if the build left the file out.
    static func bytes(_ name: String) -> [UInt8] { files[name] ?? [] }

    static func text(_ name: String) -> String { String(decoding: bytes(name), as: UTF8.self) }

    static let names = files.keys.sorted()

    private static let files: [String: [UInt8]] = {
        var files: [String: [UInt8]] = [:]
        for index in 0..<web_file_count() {
            let file = web_file_at(index)
            files[String(cString: file.name)] = [UInt8](UnsafeBufferPointer(start: file.bytes, count: file.count))
        }
        return files
    }()
}
