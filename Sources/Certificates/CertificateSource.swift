package import Foundation
import HostSystem

/// The source of a server's certificate.
package enum CertificateSource: Sendable, Equatable {
    case local(LocalCertificates)
    case files(CertificateFiles)

    package func identity(at now: Date) throws(CertificateProblem) -> ServerIdentity {
        switch self {
        case .local(let local): try local.identity(at: now)
        case .files(let files): try files.identity(at: now)
        }
    }
}

/// Decides when a certificate must be read or made again: its files have changed, or it ends soon.
package struct CertificateWatch: Sendable {
    private let source: CertificateSource
    /// Stamps of the files when they were last found usable.
    private var stamps: [FileStamp?] = []
    private var current: ServerIdentity?

    package init(_ source: CertificateSource) {
        self.source = source
    }

    /// Returns a certificate at the first call, and whenever there is a new one; `nil` while the last one is current.
    ///
    /// - Throws: The problem with the files, at each call until they are repaired.
    package mutating func look(at now: Date) throws(CertificateProblem) -> ServerIdentity? {
        switch source {
        case .local(let local):
            if let current, !current.isDue(at: now) { return nil }
            current = try local.identity(at: now)
        case .files(let files):
            let present = files.stamps
            if current != nil, present == stamps { return nil }
            // The stamps are taken before the files are read, so a later write is found the next time.
            current = try files.identity(at: now)
            stamps = present
        }
        return current
    }
}
