/// The reason why a node cannot follow an ordered log, or write to it.
package enum OrderedLogError: Error, Equatable, CustomStringConvertible {
    case truncated(number: UInt64)
    case forked(number: UInt64)
    /// The log was started again from the database of another node, and this database belongs to the former log.
    case startedAgain(beginner: String)
    /// The log no longer has this entry.
    case outOfRetention(number: UInt64)
    case newerSchema(number: UInt64, node: String)
    /// The database's schema was changed before its place in the log.
    case olderSchema(number: UInt64, node: String)
    case diverged(number: UInt64, sql: String)
    /// The log holds something that is not an entry, or is one of a newer format.
    case unreadable(reason: String)
    /// The log is another one, or its servers refuse this node.
    case unusable(reason: String)
    /// The database has content that did not come from the log.
    case otherDatabase(end: UInt64)
    /// Other nodes were first in every attempt.
    case overtaken
    /// The log has not answered, or has refused the entry.
    case unavailable(reason: String)
    /// One group commit is larger than the log accepts.
    case tooLarge(bytes: Int, limit: Int)

    /// True if the node must stop, because trying again cannot succeed.
    package var isFinal: Bool {
        switch self {
        case .truncated, .forked, .startedAgain, .outOfRetention, .newerSchema, .olderSchema, .diverged, .unreadable,
            .unusable,
            .otherDatabase:
            true
        case .overtaken, .unavailable, .tooLarge: false
        }
    }

    /// True if the log certainly does not contain the entry that was to be appended.
    var isRefusal: Bool {
        if case .tooLarge = self { true } else { false }
    }

    package var description: String {
        switch self {
        case .truncated(let number):
            """
            the log ends before entry \(number), which this node has: accepted messages are missing from the log; if \
            they do not come back, begin a new log with 'newswire hub log reseed' on the node that is furthest ahead
            """
        case .forked(let number):
            """
            entry \(number) of the log does not follow this node's last entry: the log belongs to another hub, or was \
            started again; copy the database of a node that follows it
            """
        case .startedAgain(let beginner):
            """
            the log was started again from the database of hub '\(beginner)', and this hub's database belongs to the \
            former log: copy the database of a hub that follows the new log, with 'newswire hub backup' there and \
            'newswire hub restore' here
            """
        case .outOfRetention(let number):
            """
            the log no longer has entry \(number), which this node needs next: the node was away for longer than the \
            log's retention; copy the database of another node
            """
        case .newerSchema(let number, let node):
            "entry \(number) of the log needs the schema of node '\(node)': install its version of newswire here"
        case .olderSchema(let number, let node):
            """
            entry \(number) of the log, by node '\(node)', has an earlier schema than this node's database: copy the \
            database of another node
            """
        case .diverged(let number, let sql):
            """
            entry \(number) of the log changes different rows here than on the node that wrote it: '\(sql)'; copy the \
            database of another node
            """
        case .unreadable(let reason): "the log cannot be read: \(reason)"
        case .unusable(let reason): reason
        case .otherDatabase(let end):
            """
            the database has content of its own, and the log already has \(end) entries: copy the database of a node \
            that follows the log, or use another log
            """
        case .overtaken: "other nodes write without pause; try again"
        case .unavailable(let reason): reason
        case .tooLarge(let bytes, let limit):
            "a commit of \(bytes) bytes exceeds the log's limit of \(limit) bytes: raise max_payload of its servers"
        }
    }
}

/// An error of the engine of an ordered log.
package protocol LogEngineError: Error {
    /// True if the log is not the one that this node has followed: it must stop.
    var isFinal: Bool { get }
}
