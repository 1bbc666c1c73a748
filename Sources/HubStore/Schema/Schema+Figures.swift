extension Schema {
    /// The events at each hub in each minute and hour, as JSON that only the hub reads.
    ///
    /// Each node writes its own. `span` is in seconds, and `at` is the beginning.
    static let version23 = """
        CREATE TABLE figure (
            hubID INTEGER NOT NULL,
            span INTEGER NOT NULL,
            at INTEGER NOT NULL,
            record TEXT NOT NULL,
            PRIMARY KEY (hubID, span, at)
        ) STRICT, WITHOUT ROWID;
        """

    /// The times from the acceptance of a message to the first and last write to streams of this node, in milliseconds.
    static let version24 = """
        CREATE TABLE streamTime (
            sequence INTEGER PRIMARY KEY,
            firstAfter INTEGER NOT NULL,
            lastAfter INTEGER NOT NULL
        ) STRICT;
        """
}
