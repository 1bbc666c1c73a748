import DomainNames
import Glibc
import NetworkAddresses

/// Which proxy a request goes through, as the environment's customary variables say.
///
/// `http_proxy` in small letters only: a CGI server would let a client's header `Proxy:` set the other. For `https`
/// also `HTTPS_PROXY`; `all_proxy` and `ALL_PROXY` where there is none for the scheme; `no_proxy` or `NO_PROXY` lists
/// hosts, domains, addresses and address blocks that are reached directly. This machine always is.
///
/// Read here and not by libcurl: who judges a connection has to know whether it leads to a proxy (``AddressPolicy``).
package struct ProxySettings: Sendable {
    /// No proxy for anything.
    package static let none = ProxySettings { _ in nil }
    /// What the environment said when it was first asked.
    package static let environment = ProxySettings { name in getenv(name).map { String(cString: $0) } }

    private let http: String?
    private let https: String?
    private let direct: [Exception]

    private enum Exception: Sendable {
        case everything
        case name(String)
        case block(AddressBlock)
    }

    package init(_ variable: (String) -> String?) {
        func first(_ names: String...) -> String? {
            names.compactMap { variable($0) }.first { !$0.isEmpty }
        }
        http = first("http_proxy", "all_proxy", "ALL_PROXY")
        https = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        let exceptions = first("no_proxy", "NO_PROXY") ?? ""
        direct = exceptions.split { $0 == "," || $0 == " " }.prefix(Self.maximumExceptions).compactMap {
            Self.exception($0.lowercased())
        }
    }

    /// - Returns: The proxy's URL, or `nil` for a direct connection.
    func proxy(for address: WebAddress) -> String? {
        guard let proxy = address.scheme == "https" ? https : http, !address.isLoopback else { return nil }
        let literal = NetworkAddress(address.bareHost)
        let isDirect = direct.contains { exception in
            switch exception {
            case .everything: true
            case .name(let name): address.bareHost == name || address.bareHost.hasSuffix(".\(name)")
            case .block(let block): literal.map(block.contains) ?? false
            }
        }
        return isDirect ? nil : proxy
    }

    private static func exception(_ text: String) -> Exception? {
        if text == "*" { return .everything }
        if let block = AddressBlock(text) { return .block(block) }
        let name = text.drop { $0 == "." || $0 == "*" }
        return name.isEmpty ? nil : .name(DomainName.ascii(String(name)) ?? String(name))
    }

    /// Entries of `no_proxy` that are looked at.
    private static let maximumExceptions = 1_000
}
