import DomainNames
import Glibc
import NetworkAddresses

/// Chooses the proxy of a request from the usual environment variables.
///
/// `http_proxy` is read in lower case only, since a CGI server lets a client set `HTTP_PROXY` with the header `Proxy:`.
/// `https_proxy` and `HTTPS_PROXY` are for `https`, and `all_proxy` and `ALL_PROXY` for schemes without their own.
/// `no_proxy` or `NO_PROXY` lists hosts, domains, addresses and address blocks that are reached directly, as this
/// machine always is.
///
/// libcurl does not read the variables: the check of a connection must know whether it leads to a proxy
/// (``AddressPolicy``).
package struct ProxySettings: Sendable {
    /// Direct connections only.
    package static let none = ProxySettings { _ in nil }
    /// The settings of the environment when they were first read.
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

    /// Returns the URL of the proxy for an address; `nil` for a direct connection.
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

    /// Maximum number of entries of `no_proxy` that are read.
    private static let maximumExceptions = 1_000
}
