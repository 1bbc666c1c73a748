package import Foundation
import HostSystem
package import NetworkAddresses

/// A hub's own authority, and the certificate that it has signed for the hub, as files of the state directory.
///
/// The authority's key is made once and never replaced automatically, because every client would need the new
/// authority. The server's certificate is made again long before it ends, when the hub gets other names, and when it is
/// not valid yet because the clock was ahead. An authority that is not valid yet gets another certificate with the same
/// key.
package struct LocalCertificates: Sendable, Equatable {
    /// The file with the authority that clients trust.
    package static let authorityName = "ca.pem"
    package static let authorityKeyName = "ca-key.pem"
    /// The file with certificate and key, so that they are replaced in one step.
    package static let serverName = "server.pem"

    /// The directory of the files.
    package let directory: String
    /// The server's names, not empty; the first one names the authority and the certificate.
    package let names: [HostName]
    /// The file of certificate and key; servers with one directory and other names need one each.
    private let serverName: String

    package init(directory: String, names: [HostName], serverName: String = Self.serverName) {
        self.directory = directory
        self.names = names
        self.serverName = serverName
    }

    package static func authorityPath(in directory: String) -> String { "\(directory)/\(authorityName)" }

    /// Returns a problem that would prevent a start from using its authority, and writes nothing; `nil` if there is
    /// none, or no authority yet.
    package static func problem(in directory: String) -> CertificateProblem? {
        let local = LocalCertificates(directory: directory, names: [])
        do throws(CertificateProblem) {
            _ = try local.storedAuthority()
            return nil
        } catch {
            return error
        }
    }

    /// Returns the current certificate, making it if there is none.
    ///
    /// - Throws: If a file cannot be read or written, or the authority's key is missing.
    package func identity(at now: Date) throws(CertificateProblem) -> ServerIdentity {
        var authority = try authority(at: now)
        var corrections: [ServerIdentity.Correction] = []
        if authority.facts.isAhead(of: now), let corrected = try? authority.reissued(at: now) {
            let path = Self.authorityPath(in: directory)
            try write([.init(path: path, text: corrected.certificateText, permissions: 0o644)])
            corrections.append(.authority(validFrom: authority.facts.notBefore))
            authority = corrected
        }
        let path = "\(directory)/\(serverName)"
        if let text = try read(path), var kept = authority.identity(text, path: path, for: names) {
            kept.corrections = corrections
            guard kept.isDue(at: now) else { return kept }
            if kept.facts.isAhead(of: now) { corrections.append(.server(validFrom: kept.facts.notBefore)) }
        }
        var issued: ServerIdentity
        do {
            issued = try authority.issue(for: names, now: now)
        } catch {
            throw CertificateProblem(path, "cannot create a certificate: \(error)")
        }
        try write([.init(path: path, text: issued.chain + issued.privateKey, permissions: 0o600)])
        issued.corrections = corrections
        return issued
    }

    /// Returns the authority, making it if there is none.
    private func authority(at now: Date) throws(CertificateProblem) -> CertificateAuthority {
        if let stored = try storedAuthority() { return stored }
        let path = Self.authorityPath(in: directory)
        let keyPath = "\(directory)/\(Self.authorityKeyName)"
        let made: CertificateAuthority
        do {
            made = try CertificateAuthority(host: names.last { !$0.isLoopback }?.description ?? "localhost", now: now)
        } catch {
            throw CertificateProblem(path, "cannot create an authority: \(error)")
        }
        // The key first: a certificate without its key is a problem, but no client depends on a key alone.
        try write([
            .init(path: keyPath, text: made.keyText, permissions: 0o600),
            .init(path: path, text: made.certificateText, permissions: 0o644),
        ])
        return made
    }

    private func storedAuthority() throws(CertificateProblem) -> CertificateAuthority? {
        let path = Self.authorityPath(in: directory)
        let keyPath = "\(directory)/\(Self.authorityKeyName)"
        guard let text = try read(path) else { return nil }
        guard let key = try read(keyPath) else {
            throw CertificateProblem(
                keyPath,
                "the file does not exist; put it back, or remove '\(path)' for a new authority, which clients must then trust"
            )
        }
        return try CertificateAuthority(certificate: text, path: path, key: key, keyPath: keyPath)
    }

    private func read(_ path: String) throws(CertificateProblem) -> String? {
        do throws(CertificateProblem) {
            return try PEMText.read(path)
        } catch {
            if error.host?.isMissing == true { return nil }
            throw error
        }
    }

    private func write(_ files: [HostFile.Content]) throws(CertificateProblem) {
        do throws(HostError) {
            try HostFile.replace(files)
        } catch {
            throw CertificateProblem(error)
        }
    }
}

extension ServerIdentity {
    /// True if the certificate ends soon, or is not valid yet because the clock was or is wrong.
    func isDue(at now: Date) -> Bool {
        let latest = max(now, CertificateAuthority.earliest)
        return facts.isAhead(of: now) || renewAt.map { latest >= $0 } ?? false
    }
}

extension CertificateFacts {
    /// True if the certificate is not valid yet.
    fileprivate func isAhead(of now: Date) -> Bool { max(now, CertificateAuthority.earliest) < notBefore }
}
