package import FoundationEssentials

/// Explains how to trust the authority that has signed the hub's certificate.
package struct CertificatePage: WebPage {
    package let template = "certificate"
    package let frame: PageFrame
    /// The address of the authority's certificate.
    let file: String
    let subject: String
    /// The last day on which it is valid, in ISO 8601.
    let expires: String
    /// Its SHA-256 in hexadecimal.
    let fingerprint: String

    package init(frame: PageFrame, file: String, subject: String, expires: Date, fingerprint: String) {
        self.frame = frame
        self.file = file
        self.subject = subject
        self.expires = expires.formatted(.iso8601.year().month().day())
        self.fingerprint = fingerprint
    }
}
