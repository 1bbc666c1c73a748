import GRDB
package import HubProtocol
import SQLiteFiles

/// An invitation that can still be used, for the operator: its secret is not known any more.
package struct OpenInvitation: Sendable, Equatable {
    /// The kinds of invitations, as they begin their ids.
    package enum Kind: String, CaseIterable, Sendable {
        /// A link with which one browser can read the pages.
        case reader
        /// A link that signs one browser in as an operator.
        case `operator`
        /// An address of feeds.
        case feed

        var table: (name: String, key: String) {
            switch self {
            case .reader: ("invitation", "invitationID")
            case .operator: ("operatorInvitation", "invitationID")
            case .feed: ("feedAddress", "feedAddressID")
            }
        }

        /// The time for which it can be used; for an address, the time after its last use.
        var lifetime: Duration {
            switch self {
            case .reader: Invitation.lifetime
            case .operator: Invitation.operatorLifetime
            case .feed: ReaderFeedAddress.lifetime
            }
        }
    }

    /// The id for ``PageStore/endInvitation(_:of:)``, such as `feed-7`.
    package let id: String
    package let kind: Kind
    package let createdAt: Timestamp
    /// The last use of a feed's address, to the hour; `nil` for a link, which can be used only once.
    package let usedAt: Timestamp?
    package let expiresAt: Timestamp
    /// True for the address of a feed that a reader has created on the pages.
    package let isOfReader: Bool
}

extension PageStore {
    /// The invitations of a hub that can still be used, oldest first within each kind.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package func openInvitations(to hub: HubName, at now: Timestamp) async throws -> [OpenInvitation] {
        try await read { db in
            try OpenInvitation.Kind.allCases.flatMap { kind in
                switch kind {
                case .reader, .operator: try Self.links(kind, hub, now, db)
                case .feed: try Self.feeds(hub, now, db)
                }
            }
        }
    }

    private static func links(
        _ kind: OpenInvitation.Kind,
        _ hub: HubName,
        _ now: Timestamp,
        _ db: TableTransaction
    ) throws -> [OpenInvitation] {
        let rows = try db.rows(
            """
            SELECT invitationID, expiresAt FROM \(kind.table.name) WHERE hub = ? AND expiresAt > ?
            ORDER BY invitationID
            """,
            [hub.folded, now]
        )
        return rows.map { row in
            let expiresAt: Timestamp = row["expiresAt"]
            return OpenInvitation(
                id: "\(kind.rawValue)-\(row["invitationID"] as Int64)",
                kind: kind,
                createdAt: expiresAt - kind.lifetime,
                usedAt: nil,
                expiresAt: expiresAt,
                isOfReader: false
            )
        }
    }

    private static func feeds(_ hub: HubName, _ now: Timestamp, _ db: TableTransaction) throws -> [OpenInvitation] {
        let rows = try db.rows(
            """
            SELECT feedAddressID, createdAt, usedAt, session FROM feedAddress WHERE hub = ? AND usedAt > ?
            ORDER BY feedAddressID
            """,
            [hub.folded, now - ReaderFeedAddress.lifetime]
        )
        return rows.map { row in
            let usedAt: Timestamp = row["usedAt"]
            return OpenInvitation(
                id: "\(OpenInvitation.Kind.feed.rawValue)-\(row["feedAddressID"] as Int64)",
                kind: .feed,
                createdAt: row["createdAt"],
                usedAt: usedAt,
                expiresAt: usedAt + ReaderFeedAddress.lifetime,
                isOfReader: (row["session"] as Int64?) != nil
            )
        }
    }

    /// Ends an invitation of a hub.
    ///
    /// - Returns: False if the hub has no such invitation.
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package func endInvitation(_ id: String, of hub: HubName) async throws -> Bool {
        let parts = id.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let kind = OpenInvitation.Kind(rawValue: String(parts[0])),
            let number = Int64(parts[1])
        else { return false }
        let (table, key) = kind.table
        return try await execute("DELETE FROM \(table) WHERE \(key) = ? AND hub = ?", [number, hub.folded]) == 1
    }
}
