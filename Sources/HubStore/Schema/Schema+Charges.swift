extension Schema {
    /// The cost to the hub of installations and registrations that were last written with Listen.
    ///
    /// `charge` is in bytes. It is 0 for records written with Manage, and for records that an older version wrote,
    /// since it did not store the right. An installation's charge is in the row of its native registration.
    static let version9 = "ALTER TABLE registration ADD COLUMN charge INTEGER NOT NULL DEFAULT 0"

    /// Adds the holders of Listen who have written the charged records, in the form of `ListenWriter`.
    ///
    /// It is NULL for records written with Manage, and for charged records of an earlier version.
    static let version20 = "ALTER TABLE registration ADD COLUMN writer TEXT"
}
