extension Schema {
    /// What was observed of each hub for its alarms, and the alarms themselves: JSON that the hub alone reads.
    static let version17 = """
        CREATE TABLE alarmState (
            hubID INTEGER PRIMARY KEY REFERENCES hub ON DELETE CASCADE,
            state TEXT NOT NULL
        ) STRICT;
        """
}
