extension Schema {
    /// What publishers last reported of themselves.
    ///
    /// `summary` and `report` are JSON: the first is what lists show, the second may be large.
    static let version16 = """
        CREATE TABLE publisherReport (
            hubID INTEGER NOT NULL REFERENCES hub ON DELETE CASCADE,
            publisher TEXT NOT NULL,
            receivedAt INTEGER NOT NULL,
            summary TEXT NOT NULL,
            report TEXT NOT NULL,
            UNIQUE (hubID, publisher)
        ) STRICT;
        """
}
