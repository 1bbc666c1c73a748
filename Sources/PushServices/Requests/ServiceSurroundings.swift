import HubProtocol
import NetworkAddresses
import OutboundHTTP

/// What all push services of this program have in common.
struct ServiceSurroundings: Sendable {
    /// Answers in the place of the real services; `nil` where they are real.
    let emulation: PushServiceDirectory.Emulation?
    /// Hosts of browsers' push services beside the well-known ones, in small letters.
    let browserHosts: [String]
    /// Addresses beside the public ones to which browsers' endpoints may lead.
    let browserAddresses: [AddressBlock]
    /// In `User-Agent`.
    let userAgent: String
    let now: @Sendable () -> Timestamp
    /// For requests to hosts that no device chooses.
    var proxies = ProxySettings.environment

    /// The origin of one of a service's own hosts.
    func origin(_ host: String) -> String { emulation?.origin ?? "https://\(host)" }
}
