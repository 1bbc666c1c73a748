import Formats
import HostSystem

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
        let body: [UInt8]?
        do throws(HostError) {
            body = try HostFile.bytes(path, limit: request.maximumBodyBytes)
        } catch {
            guard !error.isMissing else {
                return OutboundResponse(status: 404, headers: OutboundHeaders(), body: [], url: request.url)
            }
            throw .unreachable(host: host, reason: error.code == nil ? "it is \(error.reason)" : error.reason)
        }
        guard let body else { throw .tooLarge(host: host, limit: request.maximumBodyBytes) }
        return OutboundResponse(status: 200, headers: OutboundHeaders(), body: body, url: request.url)
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

    private static let host = "this machine"
}
