import Certificates
import HTTPTypes
import Hummingbird
import WebEdge
import WebPages

/// The page on trusting the hub's own authority, and the authority's certificate.
///
/// Anybody may read them: they contain nothing but what the hub sends in each TLS handshake.
enum CertificateRoutes {
    private static let path = "/certificate"
    private static let file = "\(path)/newswire-hub.crt"

    static let routes = [
        PageRoute(.get, path) { request in
            let (facts, _) = try authority(request)
            var frame = request.frame
            // The link leads to this page.
            frame.trust = nil
            return request.page(
                CertificatePage(
                    frame: frame,
                    file: "\(request.home.dropLast())\(file)",
                    subject: facts.subject,
                    expires: facts.notAfter,
                    fingerprint: facts.fingerprint
                )
            )
        },
        PageRoute(.get, file) { request in
            let (_, text) = try authority(request)
            // Browsers offer to install a file of this type.
            return Response(text, "application/x-x509-ca-cert", cache: "no-cache", forbidsSniffing: true)
        },
    ]

    static func address(_ home: String) -> String { "\(home.dropLast())\(path)" }

    private static func authority(_ request: PageRequest) throws -> (facts: CertificateFacts, text: String) {
        guard let path = request.authorityPath else { throw PageRefusal.notFound }
        return try CertificateFacts.read(path)
    }
}
