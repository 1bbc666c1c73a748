extension Schema {
    /// The tables of the app backend and of the pages, as their own files have them, for hubs that share a log.
    ///
    /// `importedFile` has the files whose rows were copied here: `digest` is that of the content, and `isComplete` is 0
    /// until all rows are there.
    static let version26 = """
        CREATE TABLE account (
            accountID INTEGER PRIMARY KEY AUTOINCREMENT,
            key TEXT NOT NULL UNIQUE,
            name TEXT NOT NULL,
            rounds INTEGER NOT NULL,
            blockSize INTEGER NOT NULL,
            parallelism INTEGER NOT NULL,
            salt BLOB NOT NULL,
            hash BLOB NOT NULL,
            version INTEGER NOT NULL DEFAULT 1,
            mayNotifyOthers INTEGER NOT NULL,
            createdAt INTEGER NOT NULL,
            passwordAt INTEGER NOT NULL,
            roles TEXT NOT NULL DEFAULT '',
            issuer TEXT,
            subject TEXT CHECK ((issuer IS NULL) = (subject IS NULL)),
            mayUseDesk INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE UNIQUE INDEX account_identity ON account (issuer, subject) WHERE issuer IS NOT NULL;
        CREATE TABLE removedAccount (
            key TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            removedAt INTEGER NOT NULL,
            issuer TEXT,
            subject TEXT
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX removedAccount_identity ON removedAccount (issuer, subject) WHERE issuer IS NOT NULL;
        CREATE TABLE token (
            tokenID INTEGER PRIMARY KEY AUTOINCREMENT,
            accountID INTEGER NOT NULL REFERENCES account ON DELETE CASCADE,
            hash BLOB NOT NULL UNIQUE,
            device TEXT,
            createdAt INTEGER NOT NULL,
            expiresAt INTEGER NOT NULL,
            usedAt INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX token_account ON token (accountID);
        CREATE TABLE audit (
            auditID INTEGER PRIMARY KEY AUTOINCREMENT,
            at INTEGER NOT NULL,
            lastAt INTEGER NOT NULL,
            count INTEGER NOT NULL,
            who TEXT,
            what TEXT NOT NULL,
            outcome TEXT NOT NULL,
            network TEXT
        ) STRICT;
        CREATE INDEX audit_same ON audit (what, who, outcome, network, at);
        CREATE INDEX audit_outcome ON audit (outcome);
        CREATE INDEX audit_lastAt ON audit (lastAt);
        CREATE INDEX audit_who ON audit (who) WHERE who IS NOT NULL;
        CREATE TABLE device (
            kind INTEGER NOT NULL,
            id TEXT NOT NULL,
            user TEXT NOT NULL,
            handle BLOB,
            wantedUser TEXT,
            wantedHandle BLOB,
            isRegistered INTEGER NOT NULL,
            createdAt INTEGER NOT NULL,
            changedAt INTEGER NOT NULL,
            lateCalls INTEGER NOT NULL DEFAULT 0,
            lateUntil INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (kind, id),
            CHECK ((wantedUser IS NULL) = (wantedHandle IS NULL))
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX deviceByUser ON device (user, isRegistered, changedAt);
        CREATE INDEX deviceByWantedUser ON device (wantedUser) WHERE wantedUser IS NOT NULL;
        CREATE INDEX deviceByHandle ON device (handle) WHERE handle IS NOT NULL;
        CREATE INDEX deviceByWantedHandle ON device (wantedHandle) WHERE wantedHandle IS NOT NULL;
        CREATE TABLE deviceAlias (
            user TEXT NOT NULL,
            given TEXT NOT NULL,
            target TEXT,
            at INTEGER NOT NULL,
            PRIMARY KEY (user, given)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX deviceAliasByGiven ON deviceAlias (given);
        CREATE INDEX deviceAliasByTarget ON deviceAlias (target) WHERE target IS NOT NULL;
        CREATE TABLE payload (
            addressee TEXT NOT NULL,
            id INTEGER NOT NULL UNIQUE CHECK (id BETWEEN 1 AND 2147483647),
            sender TEXT NOT NULL DEFAULT '',
            isRead INTEGER NOT NULL,
            expiresAt INTEGER NOT NULL,
            sealed BLOB NOT NULL,
            PRIMARY KEY (addressee, id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX payloadByState ON payload (addressee, isRead, expiresAt);
        CREATE INDEX payloadByExpiry ON payload (expiresAt);
        CREATE INDEX payloadBySender ON payload (sender, expiresAt);

        CREATE TABLE session (
            sessionID INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            secretHash BLOB NOT NULL,
            hub TEXT NOT NULL,
            network TEXT NOT NULL,
            installation TEXT NOT NULL,
            channel TEXT NOT NULL,
            categories TEXT NOT NULL,
            position TEXT,
            createdAt INTEGER NOT NULL,
            seenAt INTEGER NOT NULL,
            user TEXT,
            token BLOB,
            isInvited INTEGER NOT NULL DEFAULT 1,
            browser TEXT,
            subscription TEXT,
            language TEXT,
            formerUser TEXT
        ) STRICT;
        CREATE INDEX sessionBySeenAt ON session (seenAt);
        CREATE INDEX sessionByHub ON session (hub, seenAt);
        CREATE INDEX sessionBySubscription ON session (subscription) WHERE subscription IS NOT NULL;
        CREATE INDEX sessionOfGuest ON session (hub, (position IS NULL), seenAt) WHERE user IS NULL AND isInvited = 0;
        CREATE TABLE sessionStart (network TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
        CREATE INDEX sessionStartByNetwork ON sessionStart (network);
        CREATE INDEX sessionStartByTime ON sessionStart (at);
        CREATE TABLE invitation (
            invitationID INTEGER PRIMARY KEY,
            hash BLOB NOT NULL UNIQUE,
            hub TEXT NOT NULL,
            expiresAt INTEGER NOT NULL
        ) STRICT;
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
        CREATE TABLE hubIdentity (hub TEXT PRIMARY KEY, createdAt INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE feedAddress (
            feedAddressID INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            secretHash BLOB NOT NULL,
            hub TEXT NOT NULL,
            session INTEGER REFERENCES session (sessionID) ON DELETE CASCADE,
            createdAt INTEGER NOT NULL,
            usedAt INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX feedAddressBySession ON feedAddress (session);
        CREATE INDEX feedAddressByUsedAt ON feedAddress (usedAt);
        CREATE TABLE deskDraft (
            draftID INTEGER PRIMARY KEY AUTOINCREMENT,
            hub TEXT NOT NULL,
            author TEXT NOT NULL,
            key TEXT NOT NULL,
            content TEXT NOT NULL,
            digest BLOB,
            approver TEXT,
            createdAt INTEGER NOT NULL,
            expiresAt INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX deskDraftByHub ON deskDraft (hub, draftID);

        CREATE TABLE importedFile (
            name TEXT PRIMARY KEY,
            digest BLOB NOT NULL,
            isComplete INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}
