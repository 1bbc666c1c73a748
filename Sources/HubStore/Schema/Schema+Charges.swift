extension Schema {
    /// What installations and registrations that were last written with Listen cost the hub.
    ///
    /// `charge` is in bytes and 0 for what a bearer of Manage has written, and for what an older version took: that is
    /// unknown. An installation's charge is in the row of its native registration.
    static let version9 = "ALTER TABLE registration ADD COLUMN charge INTEGER NOT NULL DEFAULT 0"
}
