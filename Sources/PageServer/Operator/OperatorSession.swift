import GRDB
import HubProtocol

/// The session of an operator's browser.
struct OperatorSession: Sendable, Equatable, Decodable, FetchableRecord {
    /// The time from the sign-in to the end of the session, regardless of its use.
    static let lifetime = Duration.seconds(12 * 3_600)
    /// The number of characters of the session's name that identify the operator in the audit log.
    private static let shownName = 8

    let id: Int64
    /// The first part of the cookie, which is not secret.
    let name: String
    let expiresAt: Timestamp

    /// The operator's name in the audit log.
    var shortName: String { String(name.prefix(Self.shownName)) }
}
