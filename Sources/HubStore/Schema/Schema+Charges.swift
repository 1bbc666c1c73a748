extension Schema {
    /// The cost to the hub of installations and registrations that were last written with Listen.
    ///
    /// `charge` is in bytes. It is 0 for records written with Manage, and for records that an older version wrote,
    /// since it did not store the right. An installation's charge is in the row of its native registration.
    static let version9 = "ALTER TABLE registration ADD COLUMN charge INTEGER NOT NULL DEFAULT 0"
}
