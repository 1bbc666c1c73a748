import GRDB

extension BackendStore {
    static func createPayloads(_ db: Database) throws {
        // A foreign id is missed in the same way as an unknown one: the key begins with the addressee.
        try db.execute(
            sql: """
                CREATE TABLE payload (
                    addressee TEXT NOT NULL,
                    id INTEGER NOT NULL UNIQUE CHECK (id BETWEEN 1 AND 2147483647),
                    isRead INTEGER NOT NULL,
                    expiresAt INTEGER NOT NULL,
                    sealed BLOB NOT NULL,
                    PRIMARY KEY (addressee, id)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX payloadWaiting ON payload (addressee) WHERE isRead = 0;
                CREATE INDEX payloadByExpiry ON payload (expiresAt);
                """
        )
    }
}
