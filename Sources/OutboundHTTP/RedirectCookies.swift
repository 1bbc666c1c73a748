import Formats
import Glibc

/// The cookies that servers set while one request is redirected.
///
/// Stricter than RFC 6265: a cookie is only sent to the origin that set it, whatever its `Domain`, so that no server can
/// set or learn another one's.
struct RedirectCookies {
    private struct Cookie {
        let name: Substring
        let value: Substring
        let path: String
        let isSecure: Bool
        let origin: WebAddress
    }

    /// Limits that browsers have, too: number of cookies, bytes of one, and bytes of those that are sent.
    private static let maximumCookies = 50
    private static let maximumBytes = 4_096
    private static let maximumSentBytes = 8_192

    private var cookies: [Cookie] = []

    /// Stores the cookies of a reply; what exceeds the limits is ignored.
    mutating func take(_ headers: OutboundHeaders, from address: WebAddress) {
        for field in headers.all("Set-Cookie").prefix(Self.maximumCookies) { take(field, from: address) }
    }

    private mutating func take(_ field: String, from address: WebAddress) {
        guard field.utf8.count <= Self.maximumBytes, !field.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            return
        }
        let parts = field.split(separator: ";", omittingEmptySubsequences: false)
        let (name, value) = Self.pair(parts[0])
        guard let value, !name.isEmpty else { return }
        var (path, isSecure, isDeleted) = (address.defaultCookiePath, false, false)
        var hasMaximumAge = false
        for part in parts.dropFirst() {
            let (name, value) = Self.pair(part)
            switch name.lowercased() {
            case "secure": isSecure = true
            case "path": if let value, value.hasPrefix("/") { path = String(value) }
            case "max-age":
                guard let age = value.flatMap({ Int64($0) }) else { continue }
                (hasMaximumAge, isDeleted) = (true, age <= 0)
            case "expires":
                guard !hasMaximumAge, let date = value.flatMap({ HTTPDate.seconds(String($0)) }) else { continue }
                isDeleted = date <= Int64(time(nil))
            default: continue
            }
        }
        cookies.removeAll { $0.name == name && $0.path == path && $0.origin.origin == address.origin }
        guard !isDeleted, cookies.count < Self.maximumCookies else { return }
        cookies.append(Cookie(name: name, value: value, path: path, isSecure: isSecure, origin: address))
    }

    /// Returns the cookies for an address as the value of a header; `nil` if there are none.
    func text(for address: WebAddress) -> String? {
        var text = ""
        for cookie in cookies {
            guard cookie.origin.sharesCredentials(with: address), address.scheme == "https" || !cookie.isSecure,
                Self.isPath(address.path, within: cookie.path)
            else { continue }
            let pair = "\(cookie.name)=\(cookie.value)"
            guard text.utf8.count + pair.utf8.count + 2 <= Self.maximumSentBytes else { break }
            text += text.isEmpty ? pair : "; \(pair)"
        }
        return text.isEmpty ? nil : text
    }

    private static func pair(_ text: Substring) -> (name: Substring, value: Substring?) {
        guard let equals = text.firstIndex(of: "=") else { return (text.trimmingBlanks(), nil) }
        return (text[..<equals].trimmingBlanks(), text[text.index(after: equals)...].trimmingBlanks())
    }

    /// Source: RFC 6265 §5.1.4.
    private static func isPath(_ path: String, within cookiePath: String) -> Bool {
        guard path.hasPrefix(cookiePath) else { return false }
        return cookiePath.hasSuffix("/") || path.count == cookiePath.count
            || path.dropFirst(cookiePath.count).first == "/"
    }
}

extension WebAddress {
    /// The path, without the query.
    fileprivate var path: String {
        let rest = text.dropFirst(scheme.count + 3)
        let path = rest.drop { $0 != "/" && $0 != "?" }.prefix { $0 != "?" }
        return path.isEmpty ? "/" : String(path)
    }

    /// The path of cookies that name none (RFC 6265 §5.1.4).
    fileprivate var defaultCookiePath: String {
        let path = path
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
