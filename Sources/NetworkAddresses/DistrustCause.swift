/// The reason why TLS could not verify a host.
package enum DistrustCause: Sendable, Equatable {
    /// No trusted authority signed the certificate.
    case unknownAuthority
    /// The certificate is for other names.
    case otherName
    /// The certificate has expired or is not valid yet, or the clock is wrong.
    case notValidNow
    /// The file with the authorities to trust cannot be read.
    case unusableAuthorities
    case other
}
