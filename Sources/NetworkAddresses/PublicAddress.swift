/// The address of a server as clients on other machines write it.
package enum PublicAddress: Sendable, Equatable {
    /// A name of the server's machine: clients connect to the server's own port.
    case own(HostName)
    /// The configured address, for example that of a proxy in front of the server.
    case configured(Authority)

    /// Returns host and port, for addresses that begin with `https` or `sb`; `port` is the server's own.
    package func authority(port: Int) -> Authority {
        switch self {
        case .own(let name): Authority(name, port: port)
        case .configured(let authority): authority
        }
    }

    /// True if it is the address of a proxy in front of the server, where clients meet the proxy's certificate.
    ///
    /// A configured address can also be that of a router, which passes connections on as they are. A proxy is one that
    /// the operator trusts, or the program through which other machines reach a server that listens on this machine
    /// alone.
    ///
    /// - Parameters:
    ///   - proxies: The proxies whose forwarded headers the server trusts.
    ///   - listen: The name or address on which the server listens.
    /// - Returns: False for the server's own name, and for a router's address.
    package func isOfProxy(trusted proxies: [AddressBlock], listen: String) -> Bool {
        switch self {
        case .own: false
        case .configured: !proxies.isEmpty || HostName(listen)?.isLoopback == true
        }
    }
}
