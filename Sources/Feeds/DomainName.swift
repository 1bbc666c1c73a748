internal import Foundation

/// Host names in the one form that is looked up and compared.
enum DomainName {
    /// Longest authority that is translated, in bytes: a name has 253, and a user and a port may stand beside it.
    private static let maximumBytes = 320

    /// The authority of an address with its host in ASCII (IDNA, UTS #46); unchanged where that cannot be.
    static func ascii(_ authority: String) -> String {
        guard authority.utf8.contains(where: { $0 >= 0x80 }), authority.utf8.count <= maximumBytes else {
            return authority
        }
        let start = authority.lastIndex(of: "@").map { authority.index(after: $0) } ?? authority.startIndex
        let rest = authority[start...]
        let end = rest.lastIndex(of: ":") ?? rest.endIndex
        guard let text = URL(string: "http://\(rest[..<end])/")?.absoluteString, text.utf8.allSatisfy({ $0 < 0x80 }),
            text.hasPrefix("http://"), text.hasSuffix("/"), !text.contains("%")
        else { return authority }
        return String(authority[..<start] + text.dropFirst(7).dropLast() + rest[end...])
    }
}
