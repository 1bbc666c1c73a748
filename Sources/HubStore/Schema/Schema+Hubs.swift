extension Schema {
    /// Hubs that are created and deleted while the server runs, and their namespace.
    ///
    /// A deleted hub keeps its row, under a name that no hub can have: rows of other tables are deleted step by step
    /// until `purgedAt` is set, and its number must not be reused. `about` is JSON for the properties without a column.
    /// `registrationUnits` are 100 ns; NULL means forever. A rule of an older schema is as old as its hub.
    static let version5 = """
        ALTER TABLE hub ADD COLUMN updatedAt INTEGER;
        ALTER TABLE hub ADD COLUMN deletedAt INTEGER;
        ALTER TABLE hub ADD COLUMN purgedAt INTEGER;
        ALTER TABLE hub ADD COLUMN registrationUnits INTEGER;
        ALTER TABLE hub ADD COLUMN about TEXT;
        ALTER TABLE accessRule ADD COLUMN position INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE accessRule ADD COLUMN createdAt INTEGER;
        ALTER TABLE accessRule ADD COLUMN modifiedAt INTEGER;
        CREATE TABLE namespaceRule (
            name TEXT PRIMARY KEY,
            primaryKey TEXT NOT NULL,
            secondaryKey TEXT NOT NULL,
            rights INTEGER NOT NULL,
            createdAt INTEGER NOT NULL,
            modifiedAt INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE job (
            hubID INTEGER NOT NULL REFERENCES hub ON DELETE CASCADE,
            jobID TEXT NOT NULL,
            request TEXT NOT NULL,
            status TEXT NOT NULL,
            progress INTEGER NOT NULL,
            failure TEXT,
            output TEXT,
            checkpoint TEXT,
            createdAt INTEGER NOT NULL,
            updatedAt INTEGER NOT NULL,
            PRIMARY KEY (hubID, jobID)
        ) WITHOUT ROWID;
        """
}
