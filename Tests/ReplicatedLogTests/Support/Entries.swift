import Logging
import Testing

@testable import HubStore
@testable import ReplicatedLog

extension Logger {
    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}

extension LogEntry {
    /// An entry that no database needs to replay.
    static func plain(_ text: String = "", after place: LogPlace, node: String = "a") -> LogEntry {
        LogEntry(
            previous: place.entry,
            schema: 1,
            node: node,
            statements: [RecordedStatement(sql: text, values: [], changes: 0)],
            effects: []
        )
    }
}

/// The log's calls, which block, outside of the threads of tasks.
extension ReplicatedLog {
    func append(_ entry: LogEntry, after place: LogPlace) async throws -> LogAnswer {
        try await Self.blocking { [log] in try log.append(entry, after: place) }
    }

    /// Appends a new entry, and returns its place.
    func grow(after place: LogPlace, _ text: String = "") async throws -> LogPlace {
        let entry = LogEntry.plain(text, after: place)
        guard case .accepted(let number) = try await append(entry, after: place) else { throw NotAccepted() }
        return LogPlace(number: number, entry: entry.id)
    }

    /// Appends `count` entries beside other writers, each after the last one that there is.
    ///
    /// - Returns: The ids of the entries.
    func race(_ count: Int, as name: String) async throws -> [EntryID] {
        var (place, accepted) = (LogPlace.beginning, [EntryID]())
        while accepted.count < count {
            let entry = LogEntry.plain(after: place, node: name)
            switch try await append(entry, after: place) {
            case .accepted(let number):
                place = LogPlace(number: number, entry: entry.id)
                accepted.append(entry.id)
            case .behind: place = try #require(try await read(after: place).last).place
            }
        }
        return accepted
    }

    func read(after place: LogPlace, limit: Int = 64) async throws -> [PlacedEntry] {
        try await Self.blocking { [log] in try log.read(after: place, limit: limit) }
    }

    func end() async throws -> UInt64 { try await Self.blocking { [log] in try log.end() } }

    /// The whole log.
    func all() async throws -> [PlacedEntry] {
        var entries: [PlacedEntry] = []
        while true {
            let page = try await read(after: entries.last?.place ?? .beginning)
            if page.isEmpty { return entries }
            entries += page
        }
    }

    /// The log's stream, as its servers describe it.
    func stream() async throws -> StreamInfo {
        try await Self.blocking { [log] in
            try RetryDeadline(log.stream.configuration.patience).run { try log.stream.info(within: $0) }
        }
    }

    /// A request of the engine's interface, such as `STREAM.DELETE.x`.
    func engine(_ request: String, _ data: String = "") async throws -> String {
        let message = EngineMessage(subject: "$JS.API.\(request)", data: Array(data.utf8))
        return try await Self.blocking { [log] in
            String(decoding: try log.stream.connection.answer(to: message, within: .seconds(5)).data, as: UTF8.self)
        }
    }
}

struct NotAccepted: Error {}
