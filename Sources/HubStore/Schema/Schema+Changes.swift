extension Schema {
    /// Bytes of a registry change in addition to its record: its row and its index entry.
    static let changeOverhead = 64

    /// The size of registry changes: rows of the log, and the former choices of installations.
    ///
    /// Triggers do the counting, so that no statement can skip it, cascades included. The present choice of an
    /// installation is stored in its own row and in its newest row of `owed`, and does not count.
    static let version10 = """
        ALTER TABLE retention ADD COLUMN changeRows INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE retention ADD COLUMN changeBytes INTEGER NOT NULL DEFAULT 0;
        UPDATE retention SET
            changeRows = (SELECT count(*) FROM log WHERE ordinal IS NOT NULL),
            changeBytes = (SELECT count(*) FROM log WHERE ordinal IS NOT NULL) * \(changeOverhead)
                + (SELECT ifnull(sum(length(record)), 0) FROM owed)
                - (SELECT ifnull(sum(length(record)), 0) FROM installation);
        CREATE TRIGGER change_added AFTER INSERT ON log WHEN NEW.ordinal IS NOT NULL BEGIN
            UPDATE retention SET changeRows = changeRows + 1, changeBytes = changeBytes + \(changeOverhead);
        END;
        CREATE TRIGGER change_removed AFTER DELETE ON log WHEN OLD.ordinal IS NOT NULL BEGIN
            UPDATE retention SET changeRows = changeRows - 1, changeBytes = changeBytes - \(changeOverhead);
        END;
        CREATE TRIGGER owed_added AFTER INSERT ON owed BEGIN
            UPDATE retention SET changeBytes = changeBytes + length(NEW.record);
        END;
        CREATE TRIGGER owed_removed AFTER DELETE ON owed BEGIN
            UPDATE retention SET changeBytes = changeBytes - length(OLD.record);
        END;
        CREATE TRIGGER installation_added AFTER INSERT ON installation BEGIN
            UPDATE retention SET changeBytes = changeBytes - length(NEW.record);
        END;
        CREATE TRIGGER installation_changed AFTER UPDATE OF record ON installation BEGIN
            UPDATE retention SET changeBytes = changeBytes + length(OLD.record) - length(NEW.record);
        END;
        CREATE TRIGGER installation_removed AFTER DELETE ON installation BEGIN
            UPDATE retention SET changeBytes = changeBytes + length(OLD.record);
        END;
        """
}
