import HTTPTypes
import HubProtocol

/// The cookie of a session, one for each hub: its secret, and how far its reader has read.
///
/// The position is the browser's, so that a view of a page changes nothing in the store; whoever changes it sees other
/// messages marked as new.
///
/// The prefix `__Host-` binds it to this host, and to TLS or this machine.
///
/// Source: RFC 6265bis §4.1.3.
struct SessionCookie: Sendable {
    let name: String
    private let isSecure: Bool
    private let sameSite: String

    private static let plainPrefix = "newswire-"
    private static let privatePrefix = "__Host-newswire-"

    /// The hubs that a request has readers' cookies of; the cookies may be forged.
    static func hubs(in headers: HTTPFields) -> [HubName] {
        pairs(headers).compactMap { name, _ in
            let prefix = [privatePrefix, plainPrefix].first { name.hasPrefix($0) }
            return prefix.flatMap { try? HubName(String(name.dropFirst($0.count))) }
        }
    }

    /// Creates a cookie; `isPrivate` is true if nobody on the network can read the request.
    ///
    /// Without a private connection browsers do not send a secure cookie.
    init(hub: HubName, isPrivate: Bool) {
        name = "\(isPrivate ? Self.privatePrefix : Self.plainPrefix)\(hub)"
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

    /// Ends the secret in the value.
    private static let separator: Character = "~"

    /// The secret in a request's cookies.
    func secret(in headers: HTTPFields) -> SessionSecret? {
        value(in: headers).flatMap { SessionSecret($0.prefix { $0 != Self.separator }) }
    }

    /// The position up to which the reader has read; `nil` without one.
    func position(in headers: HTTPFields) -> StreamPosition? {
        value(in: headers).flatMap { value in
            value.firstIndex(of: Self.separator).flatMap {
                StreamPosition(parsing: String(value[value.index(after: $0)...]))
            }
        }
    }

    private func value(in headers: HTTPFields) -> Substring? {
        Self.pairs(headers).first { $0.name == name }?.value
    }

    /// The names and values of cookies; HTTP/2 may send each in a separate field.
    private static func pairs(_ headers: HTTPFields) -> [(name: Substring, value: Substring)] {
        headers[values: .cookie].flatMap { $0.split(separator: ";") }.compactMap { pair in
            let pair = pair.drop { $0 == " " }
            guard let equals = pair.firstIndex(of: "=") else { return nil }
            return (pair[..<equals], pair[pair.index(after: equals)...])
        }
    }

    /// The value of `Set-Cookie` for a secret, by default for the lifetime of a reader's session.
    func setting(
        _ secret: SessionSecret,
        at position: StreamPosition? = nil,
        for lifetime: Duration = ReaderSession.lifetime
    ) -> String {
        let value = secret.text + (position.map { "\(Self.separator)\($0.text)" } ?? "")
        return "\(name)=\(value); Max-Age=\(lifetime.components.seconds); \(attributes)"
    }

    var clearing: String { "\(name)=; Max-Age=0; \(attributes)" }

    private var attributes: String { "Path=/; HttpOnly; SameSite=\(sameSite)\(isSecure ? "; Secure" : "")" }
}
