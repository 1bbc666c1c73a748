import Formats
import Foundation
import GRDB
import HubProtocol
import SQLiteFiles

extension PageStore {
    /// Records the browser of a session.
    func setBrowser(_ browser: SessionBrowser?, of session: ReaderSession) async throws {
        try await write { db in
            try db.execute(
                sql: "UPDATE session SET browser = ?, subscription = ? WHERE sessionID = ?",
                arguments: [browser?.installation.text, browser?.subscription, session.id]
            )
        }
    }

    /// Other sessions of a hub with a subscription of the same browser, such as one whose cookie was deleted.
    func others(with browser: SessionBrowser, than session: ReaderSession, hub: HubName) async throws -> [ReaderSession]
    {
        try await read { db in
            let rows = try Row.fetchAll(
                db,
                sql: "SELECT * FROM session WHERE subscription = ? AND hub = ? AND sessionID <> ?",
                arguments: [browser.subscription, hub.folded, session.id]
            )
            return try rows.map { try ReaderSession($0) }
        }
    }
}

extension SessionBrowser {
    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        // Equal subscriptions must give equal text.
        encoder.outputFormatting = .sortedKeys
        return encoder
    }

    /// The subscription as a JSON object; equal for equal subscriptions.
    fileprivate var subscription: String? {
        (try? Self.encoder.encode(channel)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads a browser; `nil` for a session without one.
    init?(_ row: Row) throws {
        guard let id = row["browser"] as String?, let text = row["subscription"] as String? else { return nil }
        let channel = try JSONReader.decode(BrowserPushChannel.self, from: text, limits: .stored)
        self.init(installation: try InstallationID(id), channel: channel)
    }
}
