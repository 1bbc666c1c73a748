extension Schema {
    /// Messages of every format, direct sends, and scheduled messages.
    ///
    /// Columns are NULL for the usual message: a template message without headers for push services, for all matching
    /// registrations. `enqueuedAt` is the time at which a message was scheduled.
    static let version4 = """
        ALTER TABLE log ADD COLUMN format TEXT;
        ALTER TABLE log ADD COLUMN headers TEXT;
        ALTER TABLE log ADD COLUMN targets TEXT;
        ALTER TABLE log ADD COLUMN enqueuedAt INTEGER;
        CREATE TABLE scheduledMessage (
            messageID TEXT PRIMARY KEY,
            hubID INTEGER NOT NULL REFERENCES hub ON DELETE CASCADE,
            tags TEXT,
            body BLOB NOT NULL,
            format TEXT,
            headers TEXT,
            targets TEXT,
            dueAt INTEGER NOT NULL,
            scheduledAt INTEGER NOT NULL,
            canceledAt INTEGER
        );
        CREATE INDEX installation_digest ON installation (hubID, channelDigest) WHERE channelDigest IS NOT NULL;
        CREATE INDEX scheduledMessage_due ON scheduledMessage (hubID, dueAt) WHERE canceledAt IS NULL;
        CREATE INDEX scheduledMessage_canceled ON scheduledMessage (hubID, canceledAt) WHERE canceledAt IS NOT NULL;
        """
}
