import Glibc

/// The certificate authorities whose signatures count.
struct TrustedAuthorities: Sendable, Equatable {
    /// A PEM file; `nil` for the system's.
    var file: String?
    /// A folder of PEM files that are named by hashes; `nil` for the system's.
    var folder: String?
    /// True if only ``file`` counts.
    var isExclusive = false

    init(file: String? = nil, folder: String? = nil) { (self.file, self.folder) = (file, folder) }

    init(only file: String) { (self.file, isExclusive) = (file, true) }

    /// The system's, of which `SSL_CERT_FILE` and `SSL_CERT_DIR` replace the file and the folder.
    ///
    /// libcurl itself does not read these variables, which OpenSSL, curl and most other programs do.
    ///
    /// Source: SSL_CTX_set_default_verify_paths(3).
    static let environment = TrustedAuthorities { name in getenv(name).map { String(cString: $0) } }

    init(_ variable: (String) -> String?) {
        func value(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
        self.init(file: value("SSL_CERT_FILE"), folder: value("SSL_CERT_DIR"))
    }
}
