internal import HostSystem
internal import Yams

/// The keys of a feed that control how it is requested.
extension FeedListReader {
    private static let longestPath = 4_096

    mutating func readAccess(_ members: [String: Node]) -> FeedAccess {
        var access = FeedAccess()
        if let node = members["headers"] { access.headers = readHeaders(node) }
        access.headersFile = readPath(members["headers-file"], named: "headers-file")
        access.authorityFile = readPath(members["authority-file"], named: "authority-file")
        access.keepsCookies = members["cookies"].map { readFlag($0, named: "cookies") } ?? false
        if let node = members["user-agent"], let text = readText(node, named: "user-agent") {
            access.userAgent = text
            if !FeedAccess.isText(text) || text.utf8.count > FeedAccess.maximumHeaderBytes {
                problem(
                    node,
                    "'user-agent' must be a text of one line, of at most \(FeedAccess.maximumHeaderBytes) bytes"
                )
            }
        }
        return access
    }

    private mutating func readHeaders(_ node: Node) -> [FeedAccess.Header] {
        guard let mapping = node.mapping else {
            problem(node, "'headers' must be names with texts, such as 'Accept-Language: de'")
            return []
        }
        guard mapping.count <= FeedAccess.maximumHeaders else {
            problem(node, "'headers' has more than \(FeedAccess.maximumHeaders) headers")
            return []
        }
        var headers: [FeedAccess.Header] = []
        for (key, value) in mapping {
            let name = key.scalar?.string ?? ""
            // The value is never quoted: somebody may have put a secret into the wrong place.
            guard let text = value.scalar?.string else {
                problem(value, "'headers': '\(TerminalText.safe(name))' must be a text")
                continue
            }
            let header = FeedAccess.Header(name: name, value: text)
            if let reason = FeedAccess.problem(header) {
                problem(key, "'headers': \(TerminalText.safe(reason))")
            } else if FeedAccess.isSecret(name) {
                problem(
                    key,
                    "'headers': '\(name)' is secret: put it into a file, and name the file with 'headers-file'"
                )
            } else if headers.contains(where: { $0.name.lowercased() == name.lowercased() }) {
                problem(key, "'headers': '\(name)' appears twice")
            }
            headers.append(header)
        }
        return headers
    }

    /// Reads the path of a file, which may be relative to the folder of the list.
    private mutating func readPath(_ node: Node?, named name: String) -> String? {
        guard let node, let path = readText(node, named: name) else { return nil }
        guard path.utf8.count <= Self.longestPath, FeedAccess.isText(path) else {
            problem(node, "'\(name)' is not a valid path")
            return nil
        }
        if path.hasPrefix("/") { return path }
        guard let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }
}
