import GRDB
import HubProtocol

/// The hub's tables, as named migrations: new ones are appended, existing ones never change.
///
/// Nodes that share a log make each migration at the same place of it. From the 20th on, a migration must therefore have the
/// same result on equal databases: it must not read a clock, random values, keys, settings or node-local tables.
///
/// Instants are whole milliseconds since 1970. The schema enforces the rules that SQLite can enforce.
enum Schema {
    static var migrator: DatabaseMigrator { migrator(reservedTags: .standard) }

    /// Number of migrations.
    static let version = migrator.migrations.count

    /// The migrations of a hub with other reserved tags, which no migration adds to an installation.
    static func migrator(reservedTags: ReservedTagPrefixes) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        func add(_ name: String, _ sql: String, then fill: @escaping @Sendable (Database) throws -> Void = { _ in }) {
            migrator.registerMigration(name) { db in
                try db.execute(sql: sql)
                try fill(db)
            }
        }
        add("1 one log, installations and what they are owed", version1)
        add("2 whom a message matched and why streams ended", version2)
        add("3 registrations", version3, then: materialiseInstallations)
        add("4 messages of every format", version4)
        add("5 hubs and the namespace", version5)
        add("6 pages of registrations", version6)
        add("7 restores and what they lost", version7)
        add("8 names of templates are tags", "") { try tagTemplateNames($0, reservedTags: reservedTags) }
        add("9 charges of what Listen has written", version9)
        add("10 registry changes are counted", version10)
        add("11 small tables are strict", "", then: makeStrict)
        add("12 messages on their way to push services", version12)
        add("13 why deliveries ended", "", then: version13)
        add("14 answers of test sends", version14)
        add("15 handles that push services have reported dead", "", then: version15)
        // Named 13 because files exist that got it when 13 to 15 were part of 12.
        add("13 reports of publishers", version16)
        add("17 alarms", version17)
        add("18 the place in an ordered log", version18)
        add("19 the holder of duties and the nodes of jobs", version19)
        add("20 the writers of what Listen has written", version20)
        add("21 the proof of the key that nodes have in common", version21)
        add("22 hosts that retries wait for", version22)
        add("23 figures over time", version23)
        add("24 times of messages at streams", version24)
        add("25 requests to publishers", version25)
        add("26 people and pages", version26)
        return migrator
    }

    /// The first schema.
    ///
    /// The table `log` orders messages and registry changes in one sequence. AUTOINCREMENT keeps SQLite from reusing a
    /// sequence (or an installation's ordinal) after rows were dropped. `installationID` is the folded id, since ids
    /// that fold alike are one installation. `countedBytes` is the size of the rows up to `countedThrough`, so that the
    /// whole log need not be added up.
    private static let version1 = """
        CREATE TABLE hub (
            hubID INTEGER PRIMARY KEY,
            name TEXT NOT NULL COLLATE NOCASE UNIQUE,
            createdAt INTEGER NOT NULL
        );
        CREATE TABLE accessRule (
            hubID INTEGER NOT NULL REFERENCES hub ON DELETE CASCADE,
            name TEXT NOT NULL,
            primaryKey TEXT NOT NULL,
            secondaryKey TEXT NOT NULL,
            rights INTEGER NOT NULL,
            PRIMARY KEY (hubID, name)
        ) WITHOUT ROWID;
        CREATE TABLE epoch (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            firstSequence INTEGER NOT NULL,
            startedAt INTEGER NOT NULL
        );
        CREATE TABLE log (
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            hubID INTEGER NOT NULL REFERENCES hub ON DELETE CASCADE,
            at INTEGER NOT NULL,
            messageID TEXT UNIQUE,
            tags TEXT,
            body BLOB,
            ordinal INTEGER,
            CHECK ((messageID IS NULL) = (body IS NULL)),
            CHECK ((messageID IS NULL) <> (ordinal IS NULL))
        );
        CREATE INDEX log_message ON log (hubID, sequence) WHERE messageID IS NOT NULL;
        CREATE TABLE retention (
            only INTEGER PRIMARY KEY CHECK (only = 1),
            throughSequence INTEGER NOT NULL,
            bySize INTEGER NOT NULL,
            countedThrough INTEGER NOT NULL,
            countedBytes INTEGER NOT NULL
        );
        INSERT INTO retention VALUES (1, 0, 0, 0, 0);
        CREATE TABLE idempotencyKey (
            hubID INTEGER NOT NULL REFERENCES hub ON DELETE CASCADE,
            key TEXT NOT NULL,
            contentHash BLOB NOT NULL,
            messageID TEXT NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (hubID, key)
        ) WITHOUT ROWID;
        CREATE INDEX idempotencyKey_at ON idempotencyKey (at);
        CREATE TABLE installation (
            ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
            hubID INTEGER NOT NULL REFERENCES hub ON DELETE CASCADE,
            installationID TEXT NOT NULL,
            record BLOB NOT NULL,
            channelDigest BLOB,
            createdSequence INTEGER NOT NULL,
            UNIQUE (hubID, installationID)
        );
        CREATE TABLE owed (
            ordinal INTEGER NOT NULL REFERENCES installation ON DELETE CASCADE,
            afterSequence INTEGER NOT NULL,
            record BLOB NOT NULL,
            PRIMARY KEY (ordinal, afterSequence)
        ) WITHOUT ROWID;
        CREATE TABLE streamProgress (
            ordinal INTEGER PRIMARY KEY REFERENCES installation ON DELETE CASCADE,
            written INTEGER NOT NULL,
            resumedFrom TEXT,
            connectedAt INTEGER,
            disconnectedAt INTEGER
        );
        CREATE TABLE category (
            hubID INTEGER NOT NULL REFERENCES hub ON DELETE CASCADE,
            publisher TEXT NOT NULL,
            position INTEGER NOT NULL,
            name TEXT NOT NULL,
            PRIMARY KEY (hubID, publisher, position)
        ) WITHOUT ROWID;
        CREATE TABLE clock (
            only INTEGER PRIMARY KEY CHECK (only = 1),
            lastSeen INTEGER NOT NULL
        );
        """

    /// Records the outcomes of messages, for later reports.
    ///
    /// `matched` is a JSON object of counts by platform, NULL for messages of the first schema. The index covers
    /// registry changes only, so that it does not slow down sending.
    private static let version2 = """
        ALTER TABLE log ADD COLUMN matched TEXT;
        CREATE INDEX log_change ON log (hubID, sequence, ordinal) WHERE ordinal IS NOT NULL;
        ALTER TABLE streamProgress ADD COLUMN replacedAt INTEGER;
        ALTER TABLE streamProgress ADD COLUMN revokedAt INTEGER;
        """
}
