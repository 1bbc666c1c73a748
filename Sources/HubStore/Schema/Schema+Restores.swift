extension Schema {
    /// Restores of older copies, and the number that reveals them.
    ///
    /// A row of `loss` has a sequence of the log to itself. `since` is the newest instant in the copy, NULL if it had
    /// none. `generation` is incremented together with a file next to the database. `inFile` is the number that the
    /// file was last known to hold, NULL before the file was first written.
    static let version7 = """
        CREATE TABLE loss (
            sequence INTEGER PRIMARY KEY,
            epoch TEXT NOT NULL,
            since INTEGER,
            foundAt INTEGER NOT NULL
        );
        CREATE TABLE generation (
            only INTEGER PRIMARY KEY CHECK (only = 1),
            lineage TEXT NOT NULL,
            number INTEGER NOT NULL,
            inFile INTEGER
        );
        """
}
