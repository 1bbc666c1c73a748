internal import Feeds
internal import Formats
internal import Foundation

/// The lists of documents that `newswire feeds check --batch` reads.
package enum FeedBatch {
    /// One line of the list.
    package struct Item {
        /// The path as written in the list.
        package let name: String
        let path: String
        let url: String
        let contentType: String?

        package func check() -> FeedCheck {
            do {
                let body = try contents(of: path, limit: FeedReader.maximumBytes + 1)
                return FeedCheck(reading: body, url: url, contentType: contentType)
            } catch {
                return .problem("cannot be read: \(reason(error))", discovered: nil)
            }
        }
    }

    package struct BadLine: Error, CustomStringConvertible {
        let line: Int
        let path: String

        package var description: String {
            "line \(line) of '\(path)' is neither a path nor an object with the member 'file'"
        }
    }

    private struct Row: Decodable {
        let file: String
        let url: String?
        let contentType: String?

        enum CodingKeys: String, CodingKey {
            case file, url
            case contentType = "content_type"
        }
    }

    /// The largest list in bytes: more than a hundred thousand lines.
    private static let maximumBytes = 256 << 20

    package static func items(ofListAt path: String) throws -> [Item] {
        let lines = try contents(of: path, limit: maximumBytes).split(separator: 0x0A, omittingEmptySubsequences: false)
        let folder = URL(filePath: path).deletingLastPathComponent().path
        return try lines.enumerated().compactMap { number, line in
            if line.first == 0x7B {
                guard let row = try? JSONReader.decode(Row.self, from: Array(line)) else {
                    throw BadLine(line: number + 1, path: path)
                }
                return item(row.file, url: row.url, contentType: row.contentType, folder: folder)
            }
            let parts = String(decoding: line, as: UTF8.self).split(separator: "\t", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard !parts[0].isEmpty else { return nil }
            return item(
                parts[0],
                url: parts.count > 1 ? parts[1] : nil,
                contentType: parts.count > 2 && !parts[2].isEmpty ? parts[2] : nil,
                folder: folder
            )
        }
    }

    private static func item(_ name: String, url: String?, contentType: String?, folder: String) -> Item {
        let isHere = name.hasPrefix("/") || FileManager.default.fileExists(atPath: name)
        return Item(name: name, path: isHere ? name : "\(folder)/\(name)", url: url ?? "", contentType: contentType)
    }

    /// The content of a file, or of standard input for `-`, up to a number of bytes.
    package static func contents(of path: String, limit: Int) throws -> [UInt8] {
        let handle = path == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(filePath: path))
        defer { if path != "-" { try? handle.close() } }
        var bytes: [UInt8] = []
        while bytes.count < limit, let part = try handle.read(upToCount: min(1 << 20, limit - bytes.count)),
            !part.isEmpty
        {
            bytes.append(contentsOf: part)
        }
        return bytes
    }

    /// The reason why a file cannot be read, in the system's words.
    package static func reason(_ error: any Error) -> String {
        let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError ?? error as NSError
        return cause.domain == NSPOSIXErrorDomain
            ? String(cString: strerror(Int32(cause.code))).lowercased() : "\(error.localizedDescription)"
    }
}
