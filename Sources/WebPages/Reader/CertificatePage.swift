package import FoundationEssentials
import HubProtocol

/// Explains how to trust the authority that has signed the hub's certificate.
package struct CertificatePage: WebPage {
    /// The number of bytes of the fingerprint that stay together.
    private static let part = 8

    package let template = "certificate"
    package let frame: PageFrame
    package var title: String { "\(frame.words[.trustCertificate]) – \(frame.name)" }
    /// The address of the authority's certificate.
    let file: String
    let subject: String
    /// The last day on which it is valid, in ISO 8601.
    let expires: String
    /// Its SHA-256 in hexadecimal, in parts between which a line may end.
    let fingerprint: [String]

    package init(frame: PageFrame, file: String, subject: String, expires: Date, fingerprint: String) {
        self.frame = frame
        self.file = file
        self.subject = subject
        self.expires = ISODateTime.formatDay(expires)
        let pairs = fingerprint.split(separator: ":", omittingEmptySubsequences: false)
        self.fingerprint = stride(from: 0, to: pairs.count, by: Self.part).map { first in
            let part = pairs[first..<min(first + Self.part, pairs.count)].joined(separator: ":")
            return first + Self.part < pairs.count ? "\(part):" : part
        }
    }
}
