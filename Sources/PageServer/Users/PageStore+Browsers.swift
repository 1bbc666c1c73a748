import Formats
import Foundation
import GRDB
import HubProtocol
import SQLiteFiles

extension PageStore {
    /// Records a subscription of a session's browser, and the id of its installation if the session has none yet.
    ///
    /// Other sessions of the hub lose the subscription, such as one whose cookie was deleted: the browser would show each
    /// message twice.
    ///
    /// - Returns: The recorded browser, `nil` if the session has ended, and the ids of the sessions that have lost it.
    func subscribe(
        _ channel: BrowserPushChannel,
        _ session: ReaderSession,
        hub: HubName
    ) async throws -> (browser: SessionBrowser?, losers: [Int64]) {
        let (id, subscription) = (try ReaderInstallation.browser.newID(), try channel.text)
        return try await write { db in
            try db.execute(
                """
                UPDATE session SET browser = coalesce(browser, ?), subscription = ? WHERE sessionID = ? AND seenAt > 0
                """,
                [id.text, subscription, session.id]
            )
            let chosen: String? = try db.value(
                "SELECT browser FROM session WHERE sessionID = ? AND seenAt > 0",
                [session.id]
            )
            guard let chosen else { return (nil, []) }
            let others = "subscription = ? AND hub = ? AND sessionID <> ?"
            let losers: [Int64] = try db.values(
                "SELECT sessionID FROM session WHERE \(others) ORDER BY sessionID",
                [subscription, hub.folded, session.id]
            )
            try db.execute(
                "UPDATE session SET subscription = NULL WHERE \(others)",
                [subscription, hub.folded, session.id]
            )
            return (SessionBrowser(installation: try InstallationID(chosen), channel: channel), losers)
        }
    }

    /// Records another subscription of a session, or that it has none.
    func setSubscription(_ browser: SessionBrowser?, of session: ReaderSession) async throws {
        let subscription = try browser?.channel.text
        try await execute("UPDATE session SET subscription = ? WHERE sessionID = ?", [subscription, session.id])
    }

    /// The installations that sessions of a hub have, in folded form: those of their pages and of their browsers.
    ///
    /// An installation of a browser without a subscription maps to the session, whose changes decide about it.
    func installations(hub: HubName) async throws -> (known: Set<String>, unsubscribed: [String: Int64]) {
        try await read { db in
            var (known, unsubscribed) = (Set<String>(), [String: Int64]())
            _ = try db.rows(
                "SELECT sessionID, installation, browser, subscription FROM session WHERE hub = ?",
                [hub.folded]
            ) { row in
                known.insert((row["installation"] as String).lowercased())
                guard let browser = (row["browser"] as String?)?.lowercased() else { return }
                if (row["subscription"] as String?) == nil {
                    unsubscribed[browser] = row["sessionID"]
                } else {
                    known.insert(browser)
                }
            }
            return (known, unsubscribed)
        }
    }
}

extension BrowserPushChannel {
    /// The subscription as a JSON object; equal for equal subscriptions.
    fileprivate var text: String {
        get throws { try JSONEncoder.sorted.text(self) }
    }
}

extension SessionBrowser {
    /// Reads a browser; `nil` for a session without a subscription.
    init?(_ row: Row) throws {
        guard let id = row["browser"] as String?, let text = row["subscription"] as String? else { return nil }
        let channel = try JSONReader.decode(BrowserPushChannel.self, from: text, limits: .stored)
        self.init(installation: try InstallationID(id), channel: channel)
    }
}
