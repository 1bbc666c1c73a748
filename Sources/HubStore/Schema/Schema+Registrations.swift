import Foundation
import GRDB
import HubProtocol
import HubRouting

extension Schema {
    /// Registrations that messages are matched against, including those of installations.
    ///
    /// `part` names the part of an installation that a registration represents, '' for the native one. `record` is JSON
    /// for the properties without a column, NULL if the installation has it. Statements for a hub's pages use the order
    /// of `registrationID`.
    static let version3 = """
        ALTER TABLE installation ADD COLUMN expiresAt INTEGER;
        CREATE INDEX installation_stream ON installation (hubID, ordinal) WHERE channelDigest IS NOT NULL;
        CREATE INDEX installation_expiry ON installation (expiresAt) WHERE expiresAt IS NOT NULL;
        CREATE TABLE registration (
            ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
            hubID INTEGER NOT NULL REFERENCES hub ON DELETE CASCADE,
            registrationID TEXT NOT NULL,
            etag INTEGER NOT NULL,
            platform TEXT NOT NULL,
            isTemplate INTEGER NOT NULL,
            tags TEXT NOT NULL,
            handleKey INTEGER,
            record BLOB,
            installation INTEGER REFERENCES installation ON DELETE CASCADE,
            part TEXT,
            createdAfter INTEGER NOT NULL,
            changedAfter INTEGER NOT NULL,
            createdAt INTEGER NOT NULL,
            updatedAt INTEGER NOT NULL,
            expiresAt INTEGER,
            UNIQUE (hubID, registrationID),
            CHECK ((record IS NULL) = (installation IS NOT NULL)),
            CHECK ((part IS NULL) = (installation IS NULL))
        );
        CREATE INDEX registration_handle ON registration (hubID, handleKey) WHERE handleKey IS NOT NULL;
        CREATE UNIQUE INDEX registration_part ON registration (installation, part) WHERE installation IS NOT NULL;
        CREATE INDEX registration_expiry ON registration (expiresAt) WHERE expiresAt IS NOT NULL;
        CREATE TABLE formerRegistration (
            ordinal INTEGER NOT NULL,
            throughSequence INTEGER NOT NULL,
            hubID INTEGER NOT NULL REFERENCES hub ON DELETE CASCADE,
            registrationID TEXT NOT NULL,
            handleKey INTEGER NOT NULL,
            platform TEXT NOT NULL,
            isTemplate INTEGER NOT NULL,
            tags TEXT NOT NULL,
            record BLOB NOT NULL,
            afterSequence INTEGER NOT NULL,
            PRIMARY KEY (ordinal, throughSequence)
        ) WITHOUT ROWID;
        CREATE INDEX formerRegistration_handle ON formerRegistration (hubID, handleKey);
        CREATE INDEX formerRegistration_sequence ON formerRegistration (throughSequence);
        CREATE TABLE tombstone (
            hubID INTEGER NOT NULL REFERENCES hub ON DELETE CASCADE,
            registrationID TEXT NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (hubID, registrationID)
        ) WITHOUT ROWID;
        CREATE INDEX tombstone_at ON tombstone (at);
        """

    /// Index of the registrations that lists and exports show: all but those of agents, of which a hub may have a
    /// million.
    ///
    /// The log's size is counted again, now in bytes: it was counted in characters before.
    static let version6 = """
        UPDATE retention SET countedThrough = 0, countedBytes = 0;
        CREATE INDEX registration_page ON registration (hubID, registrationID) WHERE platform <> 'stream';
        """

    /// Creates the registrations of installations that older schemas have stored.
    ///
    /// Uses statements of its own, because a later schema changes those of the store.
    static func materialiseInstallations(_ db: Database) throws {
        let insert = try db.makeStatement(
            sql: """
                INSERT INTO registration (hubID, registrationID, etag, platform, isTemplate, tags, handleKey,
                    installation, part, createdAfter, changedAfter, createdAt, updatedAt, expiresAt)
                VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?9, ?10, ?11, ?11, ?12)
                """
        )
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT i.ordinal, i.hubID, i.record, i.createdSequence,
                    (SELECT max(afterSequence) FROM owed WHERE owed.ordinal = i.ordinal) AS changed,
                    coalesce((SELECT at FROM log WHERE sequence = i.createdSequence), hub.createdAt) AS created
                FROM installation AS i JOIN hub USING (hubID)
                """
        )
        while let row = try rows.next() {
            // An installation that cannot be read gets nothing until it registers again, as before.
            guard let installation = try? Installation(record: row["record"]) else { continue }
            let ordinal: Ordinal = row["ordinal"]
            let (created, changed): (LogSequence, LogSequence?) = (row["createdSequence"], row["changed"])
            let (hub, at): (HubKey, Timestamp) = (row["hubID"], row["created"])
            let expiresAt = installation.expirationTime.map { Timestamp($0) }
            try db.execute(
                sql: "UPDATE installation SET expiresAt = ? WHERE ordinal = ?",
                arguments: [expiresAt, ordinal]
            )
            for part in installation.parts {
                let channel = part.tile.map { installation.secondaryTiles[$0]?.pushChannel } ?? installation.pushChannel
                try insert.execute(
                    arguments: [
                        hub, RegistrationID.random().text, installation.platform.rawValue, part.template != nil,
                        installation.tags(of: part).joined,
                        installation.platform == .stream ? nil : channel?.key, ordinal, part.text, created,
                        changed ?? created, at, expiresAt,
                    ]
                )
            }
        }
    }
}
