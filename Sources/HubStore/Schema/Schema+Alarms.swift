extension Schema {
    /// The observations that each hub's alarms are based on, and the alarms themselves, as JSON that only the hub
    /// reads.
    static let version17 = """
        CREATE TABLE alarmState (
            hubID INTEGER PRIMARY KEY REFERENCES hub ON DELETE CASCADE,
            state TEXT NOT NULL
        ) STRICT;
        """
}
