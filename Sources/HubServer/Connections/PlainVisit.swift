import NetworkAddresses

/// A browser that has opened an address of this server with `http://`, where only `https://` is served.
struct PlainVisit: Equatable {
    /// The largest head that is examined.
    private static let maximumHead = 8_192
    /// The characters that HTML and addresses need not escape, which is all that a page of this server needs.
    private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%/".utf8)

    /// The address to open instead, without a query.
    let address: String

    /// Reads the head of a request; `nil` unless a browser asks for a page.
    init?(_ bytes: some Collection<UInt8>) {
        let text = String(decoding: bytes.prefix(Self.maximumHead), as: UTF8.self)
        // Swift has one character for CR and LF.
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = (lines.first ?? "").split(separator: " ")
        guard words.count == 3, words[0] == "GET", lines.contains("") else { return nil }
        func values(_ name: String) -> [Substring] {
            lines.dropFirst().prefix { !$0.isEmpty }.compactMap { line in
                guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name else { return nil }
                return line[line.index(after: colon)...]
            }
        }
        guard HTMLPreference.isStated(in: values("accept")), values("authorization").isEmpty,
            let host = values("host").first, let authority = Authority("\(host.filter { $0 != " " })")
        else { return nil }
        let path = words[1].prefix { $0 != "?" }
        address = "https://\(authority)\(path.hasPrefix("/") && path.utf8.allSatisfy(Self.plain.contains) ? path : "/")"
    }

    var page: String {
        """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Use https</title>
        <h1>Use https</h1>
        <p>This hub answers over HTTPS only: open <a href="\(address)">\(address)</a>.</p>
        <p>If the browser warns of the certificate, ask the hub's operator how to trust it.</p>
        </html>
        """
    }
}
