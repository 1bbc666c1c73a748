import GRDB

/// The tables of the operator's view in the pages' database.
enum OperatorSchema {
    /// Adds the tables of links, sessions and actions.
    static func addTables(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE operatorInvitation (
                    invitationID INTEGER PRIMARY KEY,
                    hash BLOB NOT NULL UNIQUE,
                    hub TEXT NOT NULL,
                    expiresAt INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE operatorSession (
                    sessionID INTEGER PRIMARY KEY,
                    name TEXT NOT NULL UNIQUE,
                    secretHash BLOB NOT NULL,
                    hub TEXT NOT NULL,
                    createdAt INTEGER NOT NULL,
                    expiresAt INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE operatorAction (
                    actionID INTEGER PRIMARY KEY AUTOINCREMENT,
                    at INTEGER NOT NULL,
                    hub TEXT NOT NULL,
                    operator TEXT NOT NULL,
                    network TEXT NOT NULL,
                    action TEXT NOT NULL,
                    detail TEXT NOT NULL,
                    outcome TEXT NOT NULL
                ) STRICT;
                CREATE INDEX operatorActionByHub ON operatorAction (hub, actionID);
                """
        )
    }
}
