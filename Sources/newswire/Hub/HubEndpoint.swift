import Certificates
import Foundation
import HostSystem
import HubServer
import NetworkAddresses
import Settings
import StartupChecks

/// The address of a server on this machine, and its certificate.
struct HubEndpoint {
    /// The address in connection strings for SDKs and other machines.
    let publicAddress: PublicAddress
    let certificate: CertificateSource

    /// Reads the configured certificate, or creates one for this machine's names with the server's own authority.
    ///
    /// The created certificate is stored under `serverName`.
    ///
    /// A hub that shares a log (`isShared`) makes no authority here: unless it is the first, the others have one.
    ///
    /// - Throws: ``Failure``.
    init(
        hostNames configured: [HostName]?,
        publicAddress: Authority?,
        certificate file: String?,
        key: String?,
        listen: String,
        state: StateDirectory,
        serverName: String = LocalCertificates.serverName,
        isShared: Bool = false
    ) throws {
        let ownName: HostName
        if let files = try Self.files(file, key) {
            certificate = .files(files)
            let identity = try certificate.identity(at: Date())
            ownName =
                configured?.first ?? identity.facts.names.lazy.compactMap { HostName($0) }.first
                ?? Self.localhost
        } else {
            let address = HostName(listen)
            let isLocal = address?.isLoopback ?? false
            let machine = configured == nil ? MachineNames.all().compactMap { HostName($0) } : []
            // Prefer a name that other machines can resolve.
            let best = machine.last { !$0.isLoopback } ?? (Self.isUnspecified(listen) ? nil : address)
            let others = [publicAddress?.hostName].compactMap(\.self) + Self.loopback
            let names = (configured ?? machine + [address].compactMap(\.self)) + others
            var unique: [HostName] = []
            for name in names where !unique.contains(name) && !Self.isUnspecified("\(name)") { unique.append(name) }
            certificate = .local(LocalCertificates(directory: state.path, names: unique, serverName: serverName))
            ownName = configured?.first ?? (isLocal ? nil : best) ?? Self.localhost
            if !isShared { _ = try certificate.identity(at: Date()) }
        }
        self.publicAddress = publicAddress.map(PublicAddress.configured) ?? .own(ownName)
    }

    private static let localhost = HostName.name("localhost")
    private static let loopback = ["localhost", "127.0.0.1", "::1"].compactMap { HostName($0) }

    private static func isUnspecified(_ address: String) -> Bool { ["0.0.0.0", "::"].contains(address) }

    /// Returns the configured files; `nil` if neither is set.
    private static func files(_ certificate: String?, _ key: String?) throws -> CertificateFiles? {
        switch (certificate, key) {
        case (let certificate?, let key?): return CertificateFiles(certificate: certificate, key: key)
        case (nil, nil): return nil
        case (_, nil): throw Failure(.badConfiguration, ConfigurationCheck.incomplete("tls-certificate", "tls-key"))
        case (nil, _): throw Failure(.badConfiguration, ConfigurationCheck.incomplete("tls-key", "tls-certificate"))
        }
    }

    /// Returns the endpoint for SDKs and other machines.
    func connectionEndpoint(port: Int) -> String { "sb://\(publicAddress.authority(port: port))/" }

    /// Returns the endpoint for programs on this machine, which need no TLS: their traffic does not leave it.
    static func localEndpoint(listen: String, port: Int) -> String {
        // A server that listens on another address listens on this one as well.
        let own = HostName(listen).flatMap { $0.isLoopback ? $0.urlHost : nil }
        return "http://\(own ?? "127.0.0.1"):\(port)/"
    }
}
