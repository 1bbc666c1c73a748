import GRDB

extension Schema {
    /// Messages that are being delivered to push services.
    ///
    /// A row of `delivery` is a message for one platform; `remaining` counts the targets without a final outcome.
    /// `endedAs` is the outcome of the targets that were left when the delivery ended, and `endReason` is the reason if
    /// the outcome alone does not explain it. `audience` is the audience of handles that the credential reached when
    /// the message was accepted (``PlatformCredential/audience``).
    ///
    /// A row of `deliveryBlock` holds 65,536 ordinals as two sets (``OrdinalSet``): the targets of the message, and the
    /// targets with a final outcome. A row is deleted when all its targets have one, and when the delivery has ended,
    /// except for targets whose outcome is `endedAs`. For a direct send, ordinals are positions in its list of handles.
    ///
    /// `collapseKey` of a retry identifies the later messages to the same target that make it obsolete. A handle that a
    /// push service has reported dead is stored with the failure, because the registration is then deleted and the
    /// installation may get another handle. Its `hubID` exists for the index only, and is NULL without a handle.
    /// `testAnswer` is the response to a test send that had an idempotency key.
    static let version12 = """
        CREATE TABLE delivery (
            sequence INTEGER NOT NULL REFERENCES log ON DELETE CASCADE,
            platform TEXT NOT NULL,
            hubID INTEGER NOT NULL REFERENCES hub ON DELETE CASCADE,
            isDirect INTEGER NOT NULL,
            audience TEXT,
            total INTEGER NOT NULL,
            remaining INTEGER NOT NULL,
            beganAt INTEGER,
            endedAt INTEGER,
            endedAs TEXT,
            failures INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (sequence, platform)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX delivery_open ON delivery (hubID, platform, sequence) WHERE endedAt IS NULL;
        CREATE INDEX delivery_failed ON delivery (hubID, failures) WHERE failures > 0;
        CREATE TABLE deliveryBlock (
            sequence INTEGER NOT NULL,
            platform TEXT NOT NULL,
            block INTEGER NOT NULL,
            targets BLOB NOT NULL,
            done BLOB NOT NULL,
            UNIQUE (sequence, platform, block),
            FOREIGN KEY (sequence, platform) REFERENCES delivery ON DELETE CASCADE
        ) STRICT;
        CREATE TABLE deliveryOutcome (
            sequence INTEGER NOT NULL,
            platform TEXT NOT NULL,
            outcome TEXT NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (sequence, platform, outcome),
            FOREIGN KEY (sequence, platform) REFERENCES delivery ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE deliveryRetry (
            sequence INTEGER NOT NULL,
            platform TEXT NOT NULL,
            ordinal INTEGER NOT NULL,
            hubID INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            dueAt INTEGER NOT NULL,
            reason TEXT NOT NULL,
            collapseKey TEXT,
            PRIMARY KEY (sequence, platform, ordinal),
            FOREIGN KEY (sequence, platform) REFERENCES delivery ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX deliveryRetry_due ON deliveryRetry (hubID, platform, dueAt);
        CREATE INDEX deliveryRetry_collapse ON deliveryRetry (ordinal, collapseKey) WHERE collapseKey IS NOT NULL;
        CREATE TABLE deliveryFailure (
            sequence INTEGER NOT NULL,
            platform TEXT NOT NULL,
            ordinal INTEGER NOT NULL,
            outcome TEXT NOT NULL,
            reason TEXT NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (sequence, platform, ordinal),
            FOREIGN KEY (sequence, platform) REFERENCES delivery ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID;
        """

    /// `endReason` explains `endedAs`; it is NULL if the outcome alone explains it.
    ///
    /// Versions 13 to 15 were part of 12 for a day: files created then already have these additions.
    static func version13(_ db: Database) throws { try add("endReason TEXT", to: "delivery", db) }

    /// The responses to test sends that had an idempotency key.
    static let version14 = """
        CREATE TABLE IF NOT EXISTS testAnswer (
            sequence INTEGER PRIMARY KEY REFERENCES log ON DELETE CASCADE,
            answer TEXT NOT NULL
        ) STRICT;
        """

    /// Handles that push services have reported dead.
    static func version15(_ db: Database) throws {
        try add("hubID INTEGER", to: "deliveryFailure", db)
        try add("handle TEXT", to: "deliveryFailure", db)
        try db.execute(
            sql: """
                CREATE INDEX IF NOT EXISTS deliveryFailure_dead ON deliveryFailure (hubID, at) WHERE handle IS NOT NULL
                """
        )
    }

    /// The paused host that a retry waits for; NULL for a retry that only waits for its time.
    static let version22 = """
        ALTER TABLE deliveryRetry ADD COLUMN host TEXT;
        CREATE INDEX deliveryRetry_host ON deliveryRetry (hubID, platform, host, dueAt) WHERE host IS NOT NULL;
        """

    /// Adds a column unless it exists.
    private static func add(_ column: String, to table: String, _ db: Database) throws {
        let name = column.prefix { $0 != " " }
        guard try !db.columns(in: table).contains(where: { $0.name == name }) else { return }
        try db.execute(sql: "ALTER TABLE \(table) ADD COLUMN \(column)")
    }
}
