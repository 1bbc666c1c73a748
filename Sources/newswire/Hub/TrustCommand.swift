import Formats
import HostSystem

/// Commands that make a kind of client trust an authority.
struct TrustCommand {
    let client: String
    /// A note for the reader.
    let note: String?
    let lines: [String]
    /// The error of a client that does not trust the hub yet.
    var errorWithout: String?

    var json: JSONText {
        [
            "client": JSONText(client), "errorWithout": JSONText(errorWithout), "lines": JSONText(strings: lines),
            "note": JSONText(note),
        ]
    }

    /// The command, below comments that name the client.
    var text: [String] {
        ["# \(client)\(note.map { ": \($0)" } ?? "")"] + (errorWithout.map { ["# without it: \($0)"] } ?? []) + lines
    }

    /// Returns one command for each kind of client, the most common ones first.
    ///
    /// `authority` is the path of a certificate in PEM.
    static func all(authority: String, endpoint: String) -> [TrustCommand] {
        let file = authority.shellWord
        return [
            TrustCommand(
                client: "Debian, Ubuntu",
                note:
                    "for all programs that use the system's trust store: curl, .NET, Go, PHP, Ruby, Rust, newswire",
                lines: [
                    "sudo install -m 644 \(file) /usr/local/share/ca-certificates/newswire-hub.crt",
                    "sudo update-ca-certificates",
                ]
            ),
            TrustCommand(client: "curl", note: nil, lines: ["curl --cacert \(file) \(endpoint)healthz"]),
            TrustCommand(
                client: "Java",
                note: "in the JVM's default store (-cacerts)",
                lines: [
                    "sudo keytool -importcert -noprompt -cacerts -storepass changeit -alias newswire-hub -file \(file)"
                ]
            ),
            TrustCommand(
                client: ".NET",
                note: "on Linux; SSL_CERT_DIR adds the system's authorities",
                lines: ["export SSL_CERT_FILE=\(file) SSL_CERT_DIR=/etc/ssl/certs"],
                // On Linux the chain ends at the hub's certificate or at the authority, depending on what .NET has
                // cached.
                errorWithout: """
                    The SSL connection could not be established, see inner exception. The remote certificate is \
                    invalid because of errors in the certificate chain: PartialChain (or UntrustedRoot)
                    """
            ),
            TrustCommand(client: "Node.js", note: nil, lines: ["export NODE_EXTRA_CA_CERTS=\(file)"]),
            TrustCommand(
                client: "Python",
                note: "requests, then the standard library; both then trust this authority only",
                lines: ["export REQUESTS_CA_BUNDLE=\(file)", "export SSL_CERT_FILE=\(file)"]
            ),
            TrustCommand(
                client: "httpx",
                note: "for Python; it then trusts this authority only",
                lines: ["export SSL_CERT_FILE=\(file)"]
            ),
            TrustCommand(
                client: "Go, Ruby, Rust",
                note: "Rust with OpenSSL or rustls-native-certs; SSL_CERT_DIR adds the system's authorities",
                lines: ["export SSL_CERT_FILE=\(file) SSL_CERT_DIR=/etc/ssl/certs"]
            ),
            TrustCommand(
                client: "newswire",
                note: "on other machines; for connections to the hub only",
                lines: ["export NEWSWIRE_CA_FILE=\(file)"]
            ),
        ]
    }
}
