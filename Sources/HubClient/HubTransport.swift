package import OutboundHTTP

/// Carries calls to a hub.
///
/// An ``OutboundHTTP/OutboundClient`` reaches any hub; a hub of the same process is called without a connection.
package protocol HubTransport: Sendable {
    /// Sends a request and collects its reply.
    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse

    /// Sends a request and returns when the head of its reply has arrived.
    func stream(_ request: OutboundRequest) async throws(OutboundError) -> OutboundStream
}

extension OutboundClient: HubTransport {}

/// The access rule and the key that a call is signed with.
package struct SigningKey: Sendable, Equatable {
    package let rule: String
    /// Never log it.
    package let key: String

    package init(rule: String, key: String) {
        self.rule = rule
        self.key = key
    }
}
