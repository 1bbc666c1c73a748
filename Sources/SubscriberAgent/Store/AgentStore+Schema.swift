import GRDB
import SQLiteFiles

extension AgentStore {
    static let migrator = DatabaseMigrator(steps: [
        "1 agent and inbox": """
        CREATE TABLE agent (
            only INTEGER PRIMARY KEY CHECK (only = 1),
            installation TEXT NOT NULL,
            channel TEXT NOT NULL,
            categories TEXT CHECK (json_type(categories) = 'array'),
            registered TEXT CHECK (json_type(registered) = 'array'),
            cursor TEXT,
            hub TEXT,
            plain_http INTEGER NOT NULL DEFAULT 0 CHECK (plain_http IN (0, 1)),
            retired TEXT NOT NULL DEFAULT '[]'
        ) STRICT;
        CREATE TABLE mark (
            ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL,
            template TEXT NOT NULL,
            UNIQUE (id, template)
        ) STRICT;
        CREATE TABLE inbox (
            ordinal INTEGER PRIMARY KEY REFERENCES mark (ordinal),
            kind TEXT NOT NULL CHECK (kind IN ('message', 'gap', 'unreadable')),
            id TEXT NOT NULL,
            template TEXT NOT NULL,
            body TEXT NOT NULL,
            title TEXT NOT NULL,
            message TEXT NOT NULL,
            link TEXT NOT NULL,
            category TEXT NOT NULL,
            received_at INTEGER NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('pending', 'started', 'done', 'failed')),
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
            failures INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
            reason TEXT,
            UNIQUE (id, template),
            CHECK (state <> 'failed' OR reason IS NOT NULL)
        ) STRICT;
        CREATE INDEX inbox_unsettled ON inbox (ordinal) WHERE state IN ('pending', 'started');
        """,
        "2 stories": """
        ALTER TABLE inbox ADD COLUMN story TEXT NOT NULL DEFAULT '';
        ALTER TABLE inbox ADD COLUMN superseded TEXT CHECK (superseded IN ('replaced', 'withdrawn'));
        CREATE INDEX inbox_by_story ON inbox (story, ordinal) WHERE story <> '';
        """,
        "3 language, template": """
        -- Of language and template at most one is set.
        ALTER TABLE agent ADD COLUMN language TEXT;
        ALTER TABLE agent ADD COLUMN template TEXT;
        ALTER TABLE agent ADD COLUMN registered_template TEXT;
        ALTER TABLE inbox ADD COLUMN is_empty INTEGER NOT NULL DEFAULT 0 CHECK (is_empty IN (0, 1));
        """,
        "4 names as in the hub's file": """
        ALTER TABLE agent RENAME COLUMN plain_http TO allowsPlainHTTP;
        ALTER TABLE agent RENAME COLUMN registered_template TO registeredTemplate;
        ALTER TABLE inbox RENAME COLUMN received_at TO receivedAt;
        ALTER TABLE inbox RENAME COLUMN is_empty TO isEmpty;
        """,
        "5 users and secure notifications": """
        -- Whose tag the installation at the hub may have, and whose it has with the last registration.
        ALTER TABLE agent ADD COLUMN taggedUser TEXT;
        ALTER TABLE agent ADD COLUMN registeredUser TEXT;
        CREATE TABLE secure (
            ordinal INTEGER PRIMARY KEY REFERENCES mark (ordinal),
            id TEXT NOT NULL,
            template TEXT NOT NULL,
            secureID INTEGER NOT NULL,
            user TEXT,
            receivedAt INTEGER NOT NULL
        ) STRICT;
        """,
        "6 versions of stories": """
        ALTER TABLE inbox ADD COLUMN version TEXT NOT NULL DEFAULT '';
        -- The row with the same version of the story that came before, from another category.
        ALTER TABLE inbox ADD COLUMN sameAs INTEGER;
        CREATE INDEX inbox_by_version ON inbox (version, ordinal) WHERE version <> '';
        """,
        "7 generations of the installation": """
        -- How often the installation at the hub, and with it the position, was given up.
        ALTER TABLE agent ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
        """,
    ])
}
