internal import GRDB
internal import SQLiteFiles

extension PublisherStore {
    /// Append-only: a migration that was released is never edited.
    ///
    /// Names are singular nouns in camel case, as in the hub's and the agents' files; instants are ``Timestamp``s.
    static let migrator = DatabaseMigrator(steps: [
        "1 feeds, keys, outbox": """
        CREATE TABLE feed (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            url TEXT NOT NULL UNIQUE,
            moved_url TEXT, move_url TEXT, move_first_seen INTEGER, move_polls INTEGER,
            etag BLOB, last_modified BLOB, body_hash BLOB,
            identical_answers INTEGER NOT NULL DEFAULT 0,
            due INTEGER, wait INTEGER,
            failures INTEGER NOT NULL DEFAULT 0, failing_since INTEGER, trouble_kind TEXT, trouble TEXT,
            last_success INTEGER, newest_entry INTEGER, baseline INTEGER,
            readings INTEGER NOT NULL DEFAULT 0, complete_reading INTEGER NOT NULL DEFAULT 0,
            incomplete_readings INTEGER NOT NULL DEFAULT 0,
            identity_rule INTEGER NOT NULL DEFAULT 0,
            retired INTEGER, title TEXT, format TEXT
        ) STRICT;
        CREATE TABLE seen (
            feed INTEGER NOT NULL REFERENCES feed(id) ON DELETE CASCADE,
            kind INTEGER NOT NULL,
            key BLOB NOT NULL CHECK (length(key) = 16),
            first_seen INTEGER NOT NULL,
            last_reading INTEGER NOT NULL,
            PRIMARY KEY (feed, kind, key)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX seen_by_reading ON seen (feed, kind, last_reading);
        CREATE TABLE story (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            category TEXT NOT NULL,
            link BLOB NOT NULL CHECK (length(link) = 16),
            first_seen INTEGER NOT NULL,
            UNIQUE (category, link)
        ) STRICT;
        CREATE INDEX story_by_age ON story (category, id);
        CREATE TABLE outbox (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            feed INTEGER REFERENCES feed(id) ON DELETE SET NULL,
            category TEXT NOT NULL,
            tags TEXT NOT NULL,
            idempotency_key TEXT NOT NULL UNIQUE,
            body BLOB NOT NULL,
            headlines TEXT NOT NULL,
            entries INTEGER NOT NULL CHECK (entries > 0),
            is_digest INTEGER NOT NULL,
            created INTEGER NOT NULL,
            state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'sent', 'failed', 'folded')),
            attempted INTEGER NOT NULL DEFAULT 0,
            finished INTEGER,
            reason TEXT,
            message_id TEXT,
            digest INTEGER
        ) STRICT;
        CREATE INDEX outbox_by_state ON outbox (state, id);
        CREATE INDEX outbox_finished ON outbox (id) WHERE state <> 'pending';
        CREATE TABLE host_wait (host TEXT PRIMARY KEY, until INTEGER NOT NULL, wait INTEGER NOT NULL) STRICT;
        CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
        """,
        "2 pace, whose validators": """
        ALTER TABLE feed ADD COLUMN validator_url TEXT;
        ALTER TABLE feed ADD COLUMN pace INTEGER;
        ALTER TABLE feed ADD COLUMN skip_hours INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE feed ADD COLUMN skip_days INTEGER NOT NULL DEFAULT 0;
        """,
        "3 stories by title, contents, held entries": """
        ALTER TABLE story RENAME COLUMN link TO key;
        ALTER TABLE story ADD COLUMN feed INTEGER;
        ALTER TABLE story ADD COLUMN outbox INTEGER;
        ALTER TABLE seen ADD COLUMN content BLOB CHECK (length(content) = 16);
        ALTER TABLE feed ADD COLUMN last_update INTEGER;
        ALTER TABLE feed ADD COLUMN held_until INTEGER;
        """,
        "4 names of stories, holds": """
        ALTER TABLE story ADD COLUMN name TEXT NOT NULL DEFAULT '';
        ALTER TABLE story ADD COLUMN content BLOB CHECK (length(content) = 16);
        ALTER TABLE story ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE story ADD COLUMN alert BLOB CHECK (length(alert) = 16);
        ALTER TABLE story ADD COLUMN sent INTEGER;
        UPDATE story SET name =
            CASE WHEN outbox IS NULL THEN printf('k%015d', id) ELSE printf('m%015d', outbox) END;
        CREATE INDEX story_by_name ON story (category, name);
        ALTER TABLE outbox ADD COLUMN status TEXT;
        ALTER TABLE outbox ADD COLUMN replaces TEXT;
        ALTER TABLE outbox ADD COLUMN not_before INTEGER;
        ALTER TABLE outbox ADD COLUMN expires INTEGER;
        """,
        "5 languages": """
        ALTER TABLE outbox ADD COLUMN languages TEXT CHECK (json_type(languages) = 'object');
        ALTER TABLE story ADD COLUMN language TEXT NOT NULL DEFAULT '';
        """,
        "6 websub": """
        CREATE TABLE websub (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            feed INTEGER NOT NULL REFERENCES feed(id) ON DELETE CASCADE,
            hub TEXT NOT NULL, topic TEXT NOT NULL,
            callback TEXT NOT NULL,
            path_hash BLOB NOT NULL UNIQUE CHECK (length(path_hash) = 32),
            secret TEXT,
            created INTEGER NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('pending', 'active', 'denied', 'leaving')),
            due INTEGER NOT NULL,
            failures INTEGER NOT NULL DEFAULT 0,
            lease_end INTEGER, last_delivery INTEGER, missed_since INTEGER, reason TEXT,
            deliveries INTEGER NOT NULL DEFAULT 0, discarded INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE UNIQUE INDEX websub_wanted ON websub (feed) WHERE state <> 'leaving';
        """,
        "7 readings in progress": """
        CREATE TABLE reading (
            feed INTEGER PRIMARY KEY REFERENCES feed(id) ON DELETE CASCADE,
            body_hash BLOB NOT NULL CHECK (length(body_hash) = 32),
            program TEXT NOT NULL,
            started INTEGER NOT NULL,
            is_open INTEGER NOT NULL,
            deaths INTEGER NOT NULL DEFAULT 0,
            is_certain INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        """,
        "8 story and urgency of messages, one style of names": """
        ALTER TABLE outbox ADD COLUMN story TEXT;
        ALTER TABLE outbox ADD COLUMN urgency TEXT;
        UPDATE outbox SET story = json_extract(CAST(body AS TEXT), '$.story'),
            urgency = json_extract(CAST(body AS TEXT), '$.urgency')
            WHERE json_valid(CAST(body AS TEXT));
        ALTER TABLE outbox RENAME COLUMN attempted TO is_attempted;
        ALTER TABLE story RENAME COLUMN withdrawn TO is_withdrawn;
        ALTER TABLE story RENAME COLUMN alert TO alert_key;
        ALTER TABLE story RENAME COLUMN sent TO alert_sent;
        """,
        "9 names as in the hub's file": """
        \(renames)
        ALTER TABLE host_wait RENAME TO hostWait;
        -- The command line's hint is no longer part of what is kept.
        UPDATE feed SET trouble = substr(trouble, 1, instr(trouble, '; ''newswire publish') - 1)
            WHERE instr(trouble, '; ''newswire publish') > 0;
        """,
        "10 judged entries": """
        CREATE TABLE judged (
            feed INTEGER PRIMARY KEY REFERENCES feed(id) ON DELETE CASCADE,
            entries TEXT NOT NULL CHECK (json_type(entries) = 'array')
        ) STRICT;
        """,
        "11 reasons of waits, age of validators, ends of outages": """
        ALTER TABLE hostWait ADD COLUMN reason TEXT;
        ALTER TABLE feed ADD COLUMN bodyReceived INTEGER;
        ALTER TABLE feed ADD COLUMN recoveredAt INTEGER;
        -- When a body last came was not stored. Ages up to a week spread the unconditional requests.
        UPDATE feed SET bodyReceived = lastSuccess - id * 7919 % 604800 * 1000;
        """,
        "12 pages of feeds": """
        CREATE TABLE feedPage (
            feed INTEGER PRIMARY KEY REFERENCES feed(id) ON DELETE CASCADE,
            page TEXT NOT NULL
        ) STRICT;
        """,
        "13 entries of pages, texts of stories, held entries": """
        ALTER TABLE seen ADD COLUMN title BLOB CHECK (length(title) = 16);
        ALTER TABLE seen ADD COLUMN date INTEGER;
        ALTER TABLE seen ADD COLUMN isShared INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE story ADD COLUMN text BLOB CHECK (length(text) = 16);
        ALTER TABLE story ADD COLUMN published INTEGER;
        ALTER TABLE feed ADD COLUMN keysVersion INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE feed ADD COLUMN site TEXT;
        ALTER TABLE feed ADD COLUMN foreignHead TEXT;
        CREATE TABLE held (
            feed INTEGER NOT NULL REFERENCES feed(id) ON DELETE CASCADE,
            key BLOB NOT NULL CHECK (length(key) = 16),
            due INTEGER NOT NULL,
            entry TEXT NOT NULL CHECK (json_type(entry) = 'object'),
            PRIMARY KEY (feed, key)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX held_by_due ON held (feed, due);
        """,
        "14 polls and pauses of feeds": """
        ALTER TABLE feed ADD COLUMN passes TEXT NOT NULL DEFAULT '';
        ALTER TABLE feed ADD COLUMN polledAt INTEGER;
        ALTER TABLE feed ADD COLUMN pausedAt INTEGER;
        CREATE TABLE passHour (
            hour INTEGER PRIMARY KEY,
            read INTEGER NOT NULL DEFAULT 0,
            unchanged INTEGER NOT NULL DEFAULT 0,
            failed INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        """,
        "15 a poll of a feed is not a pass": """
        ALTER TABLE feed RENAME COLUMN passes TO polls;
        ALTER TABLE passHour RENAME TO pollHour;
        """,
    ])

    /// The columns that migration 9 renames, by table.
    private static let formerNames: KeyValuePairs<String, KeyValuePairs<String, String>> = [
        "feed": [
            "moved_url": "movedURL", "move_url": "moveURL", "move_first_seen": "moveFirstSeen",
            "move_polls": "movePolls", "last_modified": "lastModified", "body_hash": "bodyHash",
            "identical_answers": "identicalAnswers", "failing_since": "failingSince",
            "trouble_kind": "troubleKind", "last_success": "lastSuccess",
            "newest_entry": "newestEntry", "complete_reading": "completeReading",
            "incomplete_readings": "incompleteReadings", "identity_rule": "identityRule",
            "validator_url": "validatorURL", "skip_hours": "skipHours", "skip_days": "skipDays",
            "last_update": "lastUpdate", "held_until": "heldUntil",
        ],
        "seen": ["first_seen": "firstSeen", "last_reading": "lastReading"],
        "story": [
            "first_seen": "firstSeen", "is_withdrawn": "isWithdrawn", "alert_key": "alertKey",
            "alert_sent": "alertSent",
        ],
        "outbox": [
            "idempotency_key": "idempotencyKey", "is_digest": "isDigest", "is_attempted": "isAttempted",
            "message_id": "messageID", "not_before": "notBefore",
        ],
        "websub": [
            "path_hash": "pathHash", "lease_end": "leaseEnd", "last_delivery": "lastDelivery",
            "missed_since": "missedSince",
        ],
        "reading": ["body_hash": "bodyHash", "is_open": "isOpen", "is_certain": "isCertain"],
    ]
    private static let renames = formerNames.flatMap { table, columns in
        columns.map { "ALTER TABLE \(table) RENAME COLUMN \($0) TO \($1);" }
    }.joined(separator: "\n")
}
