import Foundation
import HubProtocol

/// The name of a file to import, below the folder of its hub.
///
/// Clients send its name, a relative path, a `file:` URL, or the URL of a blob, as in code written for Azure. Only the
/// last component of a blob's URL counts. Nothing is downloaded.
struct JobFileName: Sendable, Equatable {
    /// The path with `/` between its components.
    let text: String

    /// Parses the client's address, which may hold a secret and is not quoted whole.
    ///
    /// - Throws: 400 for a file that is not below the folder.
    init(_ address: String, in folder: String) throws(ProtocolError) {
        let scheme = address.prefix { $0 != ":" && $0 != "/" }.lowercased()
        let isAddress = address.dropFirst(scheme.count).first == ":"
        let path: String
        switch scheme {
        case "http" where isAddress, "https" where isAddress:
            let resource = address.prefix { $0 != "?" && $0 != "#" }
            path = try Self.decoded(resource.split(separator: "/").last.map(String.init) ?? "")
        case "file" where isAddress:
            var rest = address.dropFirst("file:".count)
            for host in ["//localhost/", "///"] where rest.hasPrefix(host) { rest = rest.dropFirst(host.count - 1) }
            guard !rest.hasPrefix("//") else { throw Self.outside(folder) }
            path = try Self.decoded(String(rest))
        case _ where isAddress && address.dropFirst(scheme.count).hasPrefix("://"): throw Self.outside(folder)
        default: path = address
        }
        let name: Substring
        if path.hasPrefix("/") {
            guard path.hasPrefix(folder + "/") else { throw Self.outside(folder) }
            name = path.dropFirst(folder.count + 1)
        } else {
            name = path[...]
        }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard !parts.isEmpty, parts.allSatisfy({ !["", ".", ".."].contains($0) && !$0.utf8.contains(0) }) else {
            throw Self.outside(folder)
        }
        text = String(name)
    }

    private static func decoded(_ text: String) throws(ProtocolError) -> String {
        guard let decoded = text.removingPercentEncoding else {
            throw .badRequest("The ImportFileUri is not valid percent-encoding.")
        }
        return decoded
    }

    private static func outside(_ folder: String) -> ProtocolError {
        .badRequest(
            "The ImportFileUri does not name a file of this hub: put the file into '\(folder)' and send its name."
        )
    }
}
