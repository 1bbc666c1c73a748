import Formats
import Glibc

/// Reads feeds on this machine, by `file:` URL.
///
/// libcurl would wait without limit for a pipe, on the thread that carries all transfers.
enum LocalFile {
    static func isFile(_ url: String) -> Bool {
        url.prefix(5).isEqualIgnoringCase(to: "file:")
    }

    /// - Returns: Status 200 and the content; 404 if there is no such file, as for a feed that its server has removed.
    static func read(_ request: OutboundRequest) throws(OutboundError) -> OutboundResponse {
        guard request.method == "GET" else { throw .badRequest(reason: "only GET can be used with a file") }
        let path = try path(of: request.url)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno != ENOENT else {
                return OutboundResponse(status: 404, headers: OutboundHeaders(), body: [], url: request.url)
            }
            throw unreachable(errno)
        }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw unreachable(errno) }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            throw .unreachable(host: host, reason: "it is not a regular file")
        }
        let limit = request.maximumBodyBytes
        guard facts.st_size <= limit else { throw .tooLarge(host: host, limit: limit) }
        let body = try content(of: descriptor, expected: Int(facts.st_size), limit: limit)
        return OutboundResponse(status: 200, headers: OutboundHeaders(), body: body, url: request.url)
    }

    private static func content(
        of descriptor: Int32,
        expected: Int,
        limit: Int
    ) throws(OutboundError) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(expected)
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw unreachable(errno) }
            if count == 0 { return body }
            body.append(contentsOf: piece[..<count])
            guard body.count <= limit else { throw .tooLarge(host: host, limit: limit) }
        }
    }

    /// Source: RFC 8089 §2: no authority, an empty one, or `localhost`.
    private static func path(of url: String) throws(OutboundError) -> String {
        var rest = Substring(url.dropFirst(5))
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let authority = rest.prefix { $0 != "/" }
            guard authority.isEmpty || authority == "localhost" else {
                throw .badURL(reason: "a file URL cannot name another host")
            }
            rest = rest.dropFirst(authority.count)
        }
        let path = rest.prefix { $0 != "?" && $0 != "#" }
        guard path.hasPrefix("/"), let decoded = PercentEncoding.decode(path), !decoded.utf8.contains(0) else {
            throw .badURL(reason: "a file URL needs an absolute path")
        }
        return decoded
    }

    private static func unreachable(_ number: Int32) -> OutboundError {
        .unreachable(host: host, reason: String(cString: strerror(number)).lowercased())
    }

    private static let host = "this machine"
}
