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
}
