import HubProtocol
import Testing

@testable import HubStore

struct InquiryTests {
    private let everybody = RecipientCounts(total: 3, platforms: ["apns": 1, "stream": 2])

    @Test func `a message is found with whom it matched, also after a correction`() async throws {
        let (store, hub) = try await Scratch().store()
        let ids = [MessageID.random(), MessageID.random()]
        for (index, id) in ids.enumerated() {
            _ = try await store.change { [everybody] in
                try $0.appendMessage(
                    MessageRecord(id: id, tags: "World", body: [UInt8](#"{}"#.utf8)),
                    hub: hub,
                    at: Int64(index),
                    matched: everybody
                )
            }
        }
        #expect(try await store.message(hub: hub, id: ids[0], through: 2)?.matched == everybody)
        #expect(try await store.message(hub: hub, id: ids[1], through: 1) == nil, "not yet")
        #expect(try await store.message(hub: hub + 1, id: ids[0], through: 2) == nil, "another hub's")
        let nobody = RecipientCounts(total: 0, platforms: [:])
        try await store.change { try $0.setMatched(nobody, sequence: 1) }
        #expect(try await store.message(hub: hub, id: ids[0], through: 2)?.matched == nobody)
        let newest = try await store.newestMessages(hub: hub, through: 2, limit: 9)
        #expect(try newest.map { try $0.logged.id } == ids.reversed())
        #expect(try await store.newestMessages(hub: hub, through: 2, limit: 1).map(\.at) == [1])
    }

    @Test func `an installation is known as a message found it, and who has changed since`() async throws {
        let (store, hub) = try await Scratch().store()
        func insert(_ id: String, _ tags: String..., at: Int64) async throws -> StoredInstallation {
            let installation = try Installation.agent(id, tags: tags)
            return try await store.change {
                try $0.insert(installation, channelDigest: [1], hub: hub, at: at)
            }.stored
        }
        let changing = try await insert("changing", "World", at: 10)
        let removed = try await insert("removed", at: 20)
        _ = try await insert("staying", at: 30)
        let sequence = try await store.append(hub, at: 40)
        let wanted = try Installation.agent("changing", tags: ["Sports"])
        try await store.change {
            _ = try $0.update(changing, to: wanted, channelDigest: [1], hub: hub, at: 50)
            _ = try $0.delete(removed, hub: hub, at: 60)
        }
        let later = try await insert("later", at: 70)

        func then(_ id: String) async throws -> FormerInstallation? {
            try await store.installation(hub: hub, id: InstallationID(id), at: sequence)
        }
        let former = try #require(try await then("changing"))
        #expect(former.then?.tags.map(\.text) == ["World"])
        #expect(former.current.installation.tags.map(\.text) == ["Sports"])
        #expect(former.registeredAt == 10 && former.changedAt == 50)
        #expect(try await then("staying")?.changedAt == nil)
        #expect(try await then("removed") == nil)
        let newcomer = try #require(try await then("later"))
        #expect(newcomer.then == nil && newcomer.registeredAt == 70)

        let changed = try await store.changedInstallations(hub: hub, after: sequence)
        #expect(Set(changed.map(\.ordinal)) == [changing.ordinal, removed.ordinal, later.ordinal])
        let rows = changed.first { $0.ordinal == changing.ordinal }?.rows
        #expect(try rows?.inForce(at: sequence)?.installation.tags.map(\.text) == ["World"])
        #expect(changed.first { $0.ordinal == removed.ordinal }?.rows.isEmpty == true)
    }
}
