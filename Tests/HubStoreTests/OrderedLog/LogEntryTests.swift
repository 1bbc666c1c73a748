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
        LoggedEffect(MessageEffect.self, 1, 300), LoggedEffect(UnreadableEffect.self, 2, 301),
        LoggedEffect(DeliveryEffect.self, 1, DeliveryEffect()), LoggedEffect(InstallationEffect.self, 1, change.keys),
        LoggedEffect(TargetsEffect.self, 1, ordinals), LoggedEffect(PolicyEffect.self, 9, NoKeys()),
        LoggedEffect(ScheduledEffect.self, 1, ScheduledEffect(bytes: 5, dueAt: -1)),
        LoggedEffect(UnscheduledEffect.self, 1, UnscheduledEffect(messages: 2, bytes: 5, nextDue: nil)),
        LoggedEffect(UnscheduledEffect.self, 1, UnscheduledEffect(messages: 0, bytes: 0, nextDue: 7)),
        LoggedEffect(RecountedEffect.self, 1, [3, 2]), LoggedEffect(CategoriesEffect.self, 1, CategoriesEffect()),
        LoggedEffect(ReportEffect.self, 2, ReportEffect()), LoggedEffect(CreatedEffect.self, 3, NoKeys()),
        LoggedEffect(DeletedEffect.self, 3, DeletedEffect()), LoggedEffect(DroppedEffect.self, 0, .end),
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
        let hub = StoredHub(
            record: record,
            description: NotificationHubDescription(),
            createdAt: 0,
            updatedAt: 0
        )
        let effects: [NamespaceEffect] = [
            NamespaceEffect(1, MessageEffect(routed, matched: .nobody)), NamespaceEffect(2, UnreadableEffect(301)),
            NamespaceEffect(1, DeliveryEffect()), NamespaceEffect(1, Self.change),
            NamespaceEffect(
                1,
                TargetsEffect(Self.ordinals.map { TargetChange(old: Self.target($0), new: nil) })
            ),
            NamespaceEffect(9, PolicyEffect(HubPolicy())), NamespaceEffect(1, ScheduledEffect(bytes: 5, dueAt: -1)),
            NamespaceEffect(1, UnscheduledEffect(messages: 2, bytes: 5, nextDue: nil)),
            NamespaceEffect(1, UnscheduledEffect(messages: 0, bytes: 0, nextDue: 7)),
            NamespaceEffect(1, RecountedEffect([3, 2])), NamespaceEffect(1, CategoriesEffect()),
            NamespaceEffect(2, ReportEffect()),
            .created(hub, LogExtent(top: 0, droppedThrough: 0)),
            .deleted(3), .dropped(through: .end),
        ]
        #expect(effects.map { LoggedEffect($0) } == Self.effects)
        #expect(Set(effects.map { type(of: $0.effect).kind }) == Set(LoggedEffect.types.keys))
    }

    @Test func `effects have the form that earlier versions write and read`() {
        let forms = [
            "0102d804", "0204da04", "0302", "04020801e0c508020a0c010e01", "0502030204808080808040", "0612", "07020a01",
            "0802040a00", "08020000010e", "0902020604", "0d02", "0e04", "0a06", "0b06", "0cfeffffffffffffffff01",
        ]
        let bytes = LogEntry(previous: .none, schema: 0, node: "", statements: [], effects: Self.effects).encoded
        let text = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(text.hasSuffix("0000000f\(forms.joined())"))
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
