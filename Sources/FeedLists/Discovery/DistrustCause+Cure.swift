package import NetworkAddresses

extension DistrustCause {
    /// The way to have a feed's certificate accepted, as the end of an error's line.
    package var feedCure: String {
        switch self {
        case .unknownAuthority:
            "if you trust the authority that signed its certificate, put the authority's certificate into a PEM file, and "
                + "name the file with the feed's key 'authority-file', or in SSL_CERT_FILE"
        case .otherName: "use an address with a name that is in its certificate"
        case .notValidNow: "its operator must renew the certificate, unless this machine's clock is wrong"
        case .unusableAuthorities:
            "check the PEM file that the feed's key 'authority-file', or SSL_CERT_FILE, names"
        case .other: "'openssl s_client -connect HOST:PORT' shows its certificate"
        }
    }
}
