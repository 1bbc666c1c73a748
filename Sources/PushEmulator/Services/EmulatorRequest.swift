import HubProtocol
import Synchronization

/// A complete request.
struct EmulatorRequest: Sendable {
    let method: String
    /// Path without the query, as received.
    let path: String
    /// `:authority` or `Host`.
    let authority: String
    /// Headers in order, names in lower case.
    let headers: [HeaderLine]
    let body: [UInt8]
    let isHTTP2: Bool
    let receivedAt: Timestamp
    let connection: ConnectionFacts

    /// The first header of a name in lower case.
    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The credentials of an `Authorization` header with this scheme.
    func credentials(_ scheme: String) -> Substring? {
        guard let value = header("authorization"), value.lowercased().hasPrefix(scheme + " ") else { return nil }
        return value.dropFirst(scheme.count + 1).drop { $0 == " " }
    }

    /// The media type of the body, without parameters.
    var mediaType: String? {
        header("content-type").map { $0.prefix { $0 != ";" && $0 != " " }.lowercased() }
    }
}

/// Facts about a connection, shared by its requests.
final class ConnectionFacts: Sendable {
    private struct State {
        var hasClientCertificate = false
        var provider: ProviderIdentity?
    }

    /// The signer of the provider tokens on a connection to APNs.
    struct ProviderIdentity: Equatable, Sendable {
        let team: String
        let keyID: String
    }

    /// The emulator's origin, as it appears in handles.
    let origin: String
    private let state = Mutex(State())

    init(origin: String) {
        self.origin = origin
    }

    var hasClientCertificate: Bool {
        get { state.withLock { $0.hasClientCertificate } }
        set { state.withLock { $0.hasClientCertificate = newValue } }
    }

    /// Returns the first identity on this connection: `identity` if there was none before.
    func provider(_ identity: ProviderIdentity) -> ProviderIdentity {
        state.withLock { state in
            let first = state.provider ?? identity
            state.provider = first
            return first
        }
    }
}
