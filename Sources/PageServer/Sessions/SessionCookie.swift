import HTTPTypes
import HubProtocol

/// The cookie of a session, one for each hub.
///
/// The prefix `__Host-` binds it to this host, and to TLS or this machine.
///
/// Source: RFC 6265bis §4.1.3.
struct SessionCookie: Sendable {
    let name: String
    private let isSecure: Bool
    private let sameSite: String

    /// Creates a cookie; `isPrivate` is true if nobody on the network can read the request.
    ///
    /// Without a private connection browsers do not send a secure cookie.
    init(hub: HubName, isPrivate: Bool) {
        name = isPrivate ? "__Host-newswire-\(hub)" : "newswire-\(hub)"
        isSecure = isPrivate
        sameSite = "Lax"
    }

    /// The cookie of an operator, which is set on private connections only.
    init(operatorOf hub: HubName) {
        // With a dash it would be the readers' cookie of a hub named `operator-…`.
        name = "__Host-newswire.operator-\(hub)"
        isSecure = true
        sameSite = "Strict"
    }

    /// The secret in a request's cookies.
    func secret(in headers: HTTPFields) -> SessionSecret? {
        // HTTP/2 may send each cookie in a separate field.
        for field in headers[values: .cookie] {
            for pair in field.split(separator: ";") {
                let pair = pair.drop { $0 == " " }
                guard let equals = pair.firstIndex(of: "="), pair[..<equals] == name else { continue }
                return SessionSecret(pair[pair.index(after: equals)...])
            }
        }
        return nil
    }

    /// The value of `Set-Cookie` for a secret, by default for the lifetime of a reader's session.
    func setting(_ secret: SessionSecret, for lifetime: Duration = ReaderSession.lifetime) -> String {
        "\(name)=\(secret.text); Max-Age=\(lifetime.components.seconds); \(attributes)"
    }

    var clearing: String { "\(name)=; Max-Age=0; \(attributes)" }

    private var attributes: String { "Path=/; HttpOnly; SameSite=\(sameSite)\(isSecure ? "; Secure" : "")" }
}
