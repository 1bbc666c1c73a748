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

    /// The requests of operators to publishers.
    static let version25 = """
        CREATE TABLE publisherRequest (
            requestID INTEGER PRIMARY KEY AUTOINCREMENT,
            hubID INTEGER NOT NULL REFERENCES hub ON DELETE CASCADE,
            publisher TEXT NOT NULL,
            askedAt INTEGER NOT NULL,
            action TEXT NOT NULL,
            url TEXT NOT NULL,
            category TEXT,
            outcome TEXT
        ) STRICT;
        CREATE INDEX publisherRequest_by_publisher ON publisherRequest (hubID, publisher, requestID);
        """
}
