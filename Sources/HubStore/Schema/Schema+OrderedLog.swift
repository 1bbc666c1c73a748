extension Schema {
    /// The database's place in an ordered log that several nodes share; empty with an embedded log.
    ///
    /// `entry` is the 16 bytes of an ``EntryID``. Each node writes its own row, in the transaction of the entry.
    static let version18 = """
        CREATE TABLE logPlace (
            only INTEGER PRIMARY KEY CHECK (only = 1),
            number INTEGER NOT NULL,
            entry BLOB NOT NULL CHECK (length(entry) = 16)
        ) STRICT;
        """

    /// The node that has the hub's duties, and the node of each job.
    ///
    /// `duty.node` is NULL while no node has the duties. `term` rises with each takeover, `renewals` with each renewal.
    /// `job.node` is the node that has the job's files, NULL in a hub with one node.
    static let version19 = """
        CREATE TABLE duty (
            only INTEGER PRIMARY KEY CHECK (only = 1),
            node TEXT,
            term INTEGER NOT NULL,
            renewals INTEGER NOT NULL
        ) STRICT;
        INSERT INTO duty VALUES (1, NULL, 0, 0);
        ALTER TABLE job ADD COLUMN node TEXT;
        """

    /// A value that only a node with the key of the log's nodes can decrypt; empty with an embedded log.
    static let version21 = """
        CREATE TABLE keyProof (
            only INTEGER PRIMARY KEY CHECK (only = 1),
            sealed TEXT NOT NULL
        ) STRICT;
        """
}
