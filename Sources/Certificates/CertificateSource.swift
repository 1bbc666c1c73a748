package import Foundation
import HostSystem

/// Where a server's certificate comes from.
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

/// Tells when a certificate is to be taken anew: its files have changed, or it ends soon.
package struct CertificateWatch: Sendable {
    private let source: CertificateSource
    /// Stamps of the files when they were last found usable.
    private var stamps: [FileStamp?] = []
    private var current: ServerIdentity?

    package init(_ source: CertificateSource) {
        self.source = source
    }

    /// Gives a certificate at the first call, and whenever there is another one; `nil` while the last one holds.
    ///
    /// - Throws: What is wrong with the files, at each look until they are mended.
    package mutating func look(at now: Date) throws(CertificateProblem) -> ServerIdentity? {
        switch source {
        case .local(let local):
            if let current, !current.isDue(at: now) { return nil }
            current = try local.identity(at: now)
        case .files(let files):
            let present = files.stamps
            if current != nil, present == stamps { return nil }
            // Looked at before they are read: what is written meanwhile is found the next time.
            current = try files.identity(at: now)
            stamps = present
        }
        return current
    }
}
