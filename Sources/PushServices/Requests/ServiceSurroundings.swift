import HubProtocol
import NetworkAddresses
import OutboundHTTP

/// Settings that all push services of this program share.
struct ServiceSurroundings: Sendable {
    /// The server that replaces the real services; `nil` if they are real.
    let emulation: PushServiceDirectory.Emulation?
    /// Hosts of browsers' push services in addition to the well-known ones, in lower case.
    let browserHosts: [String]
    /// Addresses that those hosts may have in addition to public ones.
    let browserAddresses: [AddressBlock]
    /// The `User-Agent` header.
    let userAgent: String
    let now: @Sendable () -> Timestamp
    /// Proxies for requests to hosts that no device chooses.
    var proxies = ProxySettings.environment

    /// The origin of one of a service's own hosts.
    func origin(_ host: String) -> String { emulation?.origin ?? "https://\(host)" }
}
