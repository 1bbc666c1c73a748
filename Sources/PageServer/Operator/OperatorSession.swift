import HubProtocol

/// A browser of an operator.
struct OperatorSession: Sendable, Equatable {
    /// From the sign-in on, however much the session is used.
    static let lifetime = Duration.seconds(12 * 3_600)
    /// Characters of the session's name that stand for the operator in the audit log.
    private static let shownName = 8

    let id: Int64
    /// The first part of the cookie, which is no secret.
    let name: String
    let expiresAt: Timestamp

    /// The operator, as the audit log names them.
    var shortName: String { String(name.prefix(Self.shownName)) }
}
