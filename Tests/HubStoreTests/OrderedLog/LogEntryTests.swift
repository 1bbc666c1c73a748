import Foundation
import GRDB
import HubProtocol
import HubRouting
import Testing

@testable import HubStore

struct LogEntryTests {
    private static let change = InstallationEffect(
        ordinal: 4,
        entry: nil,
        sequence: 70_000,
        targets: [TargetChange(old: target(5), new: nil), TargetChange(old: target(6), new: target(6))],
        replaced: [TargetChange(old: nil, new: target(7))],
        endsStream: true
    )

    private static func target(_ ordinal: Ordinal) -> Target {
        Target(ordinal: ordinal, platform: .apns, isTemplate: false, tags: "", installation: 4, isMain: false)
    }

    private static let ordinals: [Ordinal] = [1, 2, Ordinal(rawValue: 1 << 40)]

    private static let effects: [LoggedEffect] = [
        .message(1, 300), .unreadable(2, 301), .delivery(1), .installation(1, LoggedInstallation(change)),
        .targets(1, ordinals), .policy(9), .scheduled(1, bytes: 5, dueAt: -1),
        .unscheduled(1, messages: 2, bytes: 5, nextDue: nil), .unscheduled(1, messages: 0, bytes: 0, nextDue: 7),
        .recounted(1, [3, 2]), .categories(1), .report(2), .created(3), .deleted(3), .dropped(through: .end),
    ]

    private static let entry = LogEntry(
        previous: .random(),
        schema: 19,
        node: "Kanzlei ✓",
        statements: [
            RecordedStatement(
                sql: "INSERT INTO t VALUES (?, ?, ?, ?, ?)",
                values: [
                    .null, Int64.min.databaseValue, (-0.5).databaseValue, "é\u{0}".databaseValue,
                    Data([0, 255]).databaseValue,
                ],
                changes: 1
            ),
            RecordedStatement(
                sql: "UPDATE t SET a = ?",
                values: [Int64.max.databaseValue, Double.infinity.databaseValue],
                changes: 100_000
            ),
            RecordedStatement(
                sql: "INSERT INTO t VALUES (?, ?, ?, ?, ?)",
                values: ["".databaseValue, Data().databaseValue],
                changes: 0
            ),
        ],
        effects: effects
    )

    @Test func `an entry is read as it was written`() throws {
        #expect(try LogEntry(encoded: Self.entry.encoded) == Self.entry)
        let empty = LogEntry(previous: .none, schema: 0, node: "", statements: [], effects: [])
        #expect(try LogEntry(encoded: empty.encoded) == empty)
        #expect(empty.id != LogEntry(previous: .none, schema: 0, node: "", statements: [], effects: []).id)
    }

    @Test func `every effect has a form in an entry, with its keys`() throws {
        let record = HubRecord(id: 3, name: try HubName("news"))
        let routed = RoutedMessage(
            sequence: 300,
            id: .random(),
            try Message(body: Array("{}".utf8)),
            installations: nil
        )
        let effects: [NamespaceEffect] = [
            .hub(1, .message(routed, matched: .nobody)), .hub(2, .unreadable(301)), .hub(1, .delivery),
            .hub(1, .installation(Self.change)),
            .hub(1, .targets(Self.ordinals.map { TargetChange(old: Self.target($0), new: nil) })),
            .hub(9, .policy(HubPolicy())), .hub(1, .scheduled(bytes: 5, dueAt: -1)),
            .hub(1, .unscheduled(messages: 2, bytes: 5, nextDue: nil)),
            .hub(1, .unscheduled(messages: 0, bytes: 0, nextDue: 7)), .hub(1, .recounted([3, 2])),
            .hub(1, .categories), .hub(2, .report),
            .created(record, HubPolicy(), LogExtent(top: 0, droppedThrough: 0)), .deleted(3), .dropped(through: .end),
        ]
        #expect(effects.map(LoggedEffect.init) == Self.effects)
    }

    @Test func `statements with one text take little more than their values`() {
        let sql = "INSERT INTO log (messageID, tags, body) VALUES (?, ?, ?)"
        func size(_ count: Int) -> Int {
            let statement = RecordedStatement(sql: sql, values: [1.databaseValue], changes: 1)
            return LogEntry(
                previous: .none,
                schema: 1,
                node: "a",
                statements: Array(repeating: statement, count: count),
                effects: []
            ).encoded.count
        }
        #expect(size(101) - size(1) <= 100 * 5)
    }

    @Test func `an entry that was cut off or changed is refused or differs, and harms nobody`() {
        let bytes = Self.entry.encoded
        for count in bytes.indices {
            #expect(throws: LogEntryError.self) { try LogEntry(encoded: Array(bytes.prefix(count))) }
        }
        #expect(throws: LogEntryError.self) { try LogEntry(encoded: bytes + [0]) }
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 0xFF
            let read = try? LogEntry(encoded: changed)
            #expect(read != Self.entry, "byte \(place)")
        }
    }

    @Test func `an entry of a newer format is refused by its number`() {
        var bytes = Self.entry.encoded
        bytes[4] = 2
        let error = #expect(throws: LogEntryError.self) { try LogEntry(encoded: bytes) }
        #expect(error == .newerFormat(2))
        #expect(throws: LogEntryError.notAnEntry) { try LogEntry(encoded: Array("{}".utf8)) }
    }
}
