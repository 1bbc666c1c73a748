import Certificates
import NIOSSL
import NetworkAddresses

@testable import HubServer

extension CertificateSource {
    /// One of an authority of the hub's own.
    static func test(in scratch: Scratch) -> CertificateSource {
        .local(LocalCertificates(directory: scratch.folder, names: ["localhost"].compactMap { HostName($0) }))
    }
}

extension NIOSSLContext {
    /// For a client that looks at no certificate: a test's clock, and so its hub's certificate, may be years ahead.
    static func trustingAll(offering protocols: [String]) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        configuration.applicationProtocols = protocols
        return try NIOSSLContext(configuration: configuration)
    }
}
