extension Schema {
    /// The last report of each publisher.
    ///
    /// `summary` and `report` are JSON: lists show the first; the second may be large.
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
