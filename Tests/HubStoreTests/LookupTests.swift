import HubProtocol
import HubRouting
import Testing

@testable import HubStore

struct LookupTests {
    private let everybody = RecipientCounts(total: 3, platforms: ["apns": 1, "stream": 2])

    @Test func `a message is found with its recipients, also after a correction`() async throws {
        let (store, hub) = try await Scratch().store()
        let ids = [MessageID.random(), MessageID.random()]
        for (index, id) in ids.enumerated() {
            _ = try await store.change { [everybody] in
                try $0.appendMessage(
                    MessageRecord(id: id, tags: "World", body: [UInt8](#"{}"#.utf8)),
                    hub: hub,
                    at: Timestamp(milliseconds: Int64(index)),
                    matched: everybody
                )
            }
        }
        #expect(try await store.message(hub: hub, id: ids[0], through: 2)?.matched == everybody)
        #expect(try await store.message(hub: hub, id: ids[1], through: 1) == nil, "not yet")
        #expect(
            try await store.message(hub: HubKey(rawValue: hub.rawValue + 1), id: ids[0], through: 2) == nil,
            "another hub's"
        )
        let nobody = RecipientCounts(total: 0, platforms: [:])
        try await store.change { try $0.setMatched(nobody, sequence: 1) }
        #expect(try await store.message(hub: hub, id: ids[0], through: 2)?.matched == nobody)
        let newest = try await store.newestMessages(hub: hub, through: 2, limit: 9)
        #expect(try newest.map { try $0.logged.id } == ids.reversed())
        #expect(try await store.newestMessages(hub: hub, through: 2, limit: 1).map(\.at) == [1])
    }

    @Test func `an installation is known as a message found it, and who has changed since`() async throws {
        let (store, hub) = try await Scratch().store()
        func insert(_ id: String, _ tags: String..., at: Timestamp) async throws -> StoredInstallation {
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

        func former(_ id: String) async throws -> FormerInstallation? {
            try await store.installation(hub: hub, id: InstallationID(id), at: sequence)
        }
        let changed = try #require(try await former("changing"))
        #expect(changed.then?.tags.map(\.text) == ["World"])
        #expect(changed.current.installation.tags.map(\.text) == ["Sports"])
        #expect(changed.registeredAt == 10 && changed.changedAt == 50)
        #expect(try await former("staying")?.changedAt == nil)
        #expect(try await former("removed") == nil)
        let newcomer = try #require(try await former("later"))
        #expect(newcomer.then == nil && newcomer.registeredAt == 70)

        let all = try await store.changedInstallations(hub: hub, after: sequence)
        #expect(Set(all.map(\.ordinal)) == [changing.ordinal, removed.ordinal, later.ordinal])
        #expect(all.first { $0.ordinal == later.ordinal }?.lastChange == later.createdSequence)
        let ordinals = [changing.ordinal, removed.ordinal, later.ordinal]
        let then = try await store.mapPendingRows(of: ordinals, over: sequence...sequence) { rows in
            rows.compactMap { try? $0.installation.tags.map(\.text) }
        }
        #expect(then == [[["World"]], [], []], "only what is in force for the message is read")
        let since = try await store.mapPendingRows(of: ordinals, over: sequence...later.createdSequence.next) {
            $0.count
        }
        #expect(since == [2, 0, 1])
    }

    @Test func `how far many streams are is read at once`() async throws {
        let (store, hub) = try await Scratch().store()
        let installations = try (0..<3).map { try Installation.agent("a\($0)") }
        let ordinals = try await store.change { transaction in
            try installations.map {
                try transaction.insert($0, channelDigest: [1], hub: hub, at: 1).stored.ordinal
            }
        }
        let noted = ordinals.dropLast().map { StreamProgress(ordinal: $0, written: 7, resumedFrom: "x") }
        try await store.change { transaction in
            for progress in noted { try transaction.note(progress) }
        }
        #expect(try await store.progress(of: ordinals.dropFirst()) == [ordinals[1]: noted[1]])
        #expect(try await store.progress(of: [Ordinal]()) == [:])
    }
}
