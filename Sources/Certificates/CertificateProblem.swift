package import HostSystem

/// The reason why a certificate or its key cannot be used; one line that names the file and contains no key.
package struct CertificateProblem: Error, Sendable, Equatable, CustomStringConvertible {
    package let path: String
    package let reason: String
    /// The system's error, if it refused.
    package let host: HostError?

    init(_ path: String, _ reason: String) {
        self.path = path
        self.reason = reason
        host = nil
    }

    init(_ error: HostError) {
        path = error.subject
        reason = error.reason
        host = error
    }

    package var description: String {
        host.map { "\($0)" } ?? "cannot use '\(TerminalText.safe(path))': \(reason)"
    }
}
