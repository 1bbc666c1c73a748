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
}
