import HubProtocol
import HubRouting
import Testing

@testable import HubStore

/// Each effect changes the part of the state in memory that it is about.
struct EffectTests {
    private static let hub: HubKey = 3

    private static func stored() throws -> StoredHub {
        StoredHub(
            record: HubRecord(id: hub, name: try HubName("news")),
            description: NotificationHubDescription(),
            createdAt: 0,
            updatedAt: 0
        )
    }

    private static func target(_ ordinal: Ordinal) -> Target {
        Target(ordinal: ordinal, platform: .apns, isTemplate: false, tags: "", installation: nil, isMain: false)
    }

    private static func machine() throws -> NamespaceMachine {
        var machine = NamespaceMachine(
            rules: [],
            epochs: EpochHistory(epochs: [Epoch(name: "e", firstSequence: 1)]),
            reserved: .standard,
            loops: 1
        )
        NamespaceEffect.created(try stored(), LogExtent(top: 5, droppedThrough: 0)).apply(to: &machine)
        return machine
    }

    private static func message(_ sequence: LogSequence) throws -> RoutedMessage {
        RoutedMessage(sequence: sequence, id: .random(), try Message(body: Array("{}".utf8)), installations: nil)
    }

    @Test func `hubs are created and deleted`() throws {
        var machine = try Self.machine()
        #expect(machine.takeOutput().opened.map(\.id) == [Self.hub])
        #expect(machine.status(of: Self.hub)?.head == 5)
        NamespaceEffect.deleted(Self.hub).apply(to: &machine)
        #expect(machine.takeOutput().closed == [Self.hub])
        #expect(machine.status(of: Self.hub) == nil)
    }

    @Test func `effects on a hub that is gone change nothing`() throws {
        var machine = try Self.machine()
        NamespaceEffect(9, ReportEffect()).apply(to: &machine)
        NamespaceEffect.deleted(9).apply(to: &machine)
        #expect(machine.status(of: Self.hub)?.reportRevision == 0)
        #expect(machine.takeOutput().closed.isEmpty)
    }

    @Test func `each effect changes its part of a hub's state`() throws {
        var machine = try Self.machine()
        _ = machine.takeOutput()
        func status(after effects: any HubEffect...) throws -> HubStatus {
            for effect in effects { NamespaceEffect(Self.hub, effect).apply(to: &machine) }
            return try #require(machine.status(of: Self.hub))
        }
        let miscounted = Matched(counts: RecipientCounts(total: 9, platforms: ["apns": 9]), changes: -1)
        var now = try status(after: MessageEffect(try Self.message(300), matched: miscounted))
        #expect(now.lastMessage == 300 && now.head == 300)
        #expect(machine[Self.hub]?.recounted[300]?.total == 0)
        _ = try status(after: RecountedEffect([300]))
        #expect(machine[Self.hub]?.recounted.isEmpty == true)

        #expect(try status(after: UnreadableEffect(301)).lastMessage == 301)
        #expect(!machine.takeOutput().deliveries.contains(Self.hub))
        _ = try status(after: DeliveryEffect())
        #expect(machine.takeOutput().deliveries == [Self.hub])

        now = try status(after: TargetsEffect([TargetChange(old: nil, new: Self.target(7))]))
        #expect(now.registrationCounts == [.apns: 1])
        let removal = InstallationEffect(
            ordinal: 4,
            entry: nil,
            sequence: 302,
            targets: [],
            replaced: [TargetChange(old: Self.target(7), new: nil)],
            endsStream: true
        )
        now = try status(after: removal)
        #expect(now.head == 302 && now.lastMessage == 301)
        #expect((now.registrationCounts[.apns] ?? 0) == 0)

        now = try status(after: ScheduledEffect(bytes: 5, dueAt: 9), ScheduledEffect(bytes: 6, dueAt: 8))
        #expect(now.scheduled.messages == 2 && now.scheduled.bytes == 11 && now.scheduled.nextDue == 8)
        now = try status(after: UnscheduledEffect(messages: 1, bytes: 6, nextDue: 9))
        #expect(now.scheduled.messages == 1 && now.scheduled.bytes == 5 && now.scheduled.nextDue == 9)

        now = try status(after: CategoriesEffect())
        #expect(now.categoryRevision == 1 && now.reportRevision == 0)
        #expect(try status(after: ReportEffect()).reportRevision == 1)
        #expect(try status(after: PolicyEffect(HubPolicy(isDisabled: true))).isDisabled)
        NamespaceEffect.dropped(through: 2).apply(to: &machine)
        #expect(machine.status(of: Self.hub)?.droppedThrough == 2)
    }
}
