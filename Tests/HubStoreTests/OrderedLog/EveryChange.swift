import Foundation
import GRDB
import HubProtocol
import HubRouting

@testable import HubStore

/// Changes of every kind that a hub makes.
struct EveryChange {
    let store: HubStore

    /// - Throws: What the store throws; no change is expected to fail.
    func make(on hub: HubKey) async throws {
        try await loss()
        try await messages(hub)
        try await installations(hub)
        try await registrations(hub)
        try await scheduled(hub)
        try await deliveries(hub)
        try await reports(hub)
        try await upkeep(hub)
        try await lease()
        try await deletion()
    }

    private func lease() async throws {
        for node in ["a", "b"] {
            try await store.change { transaction in
                try transaction.claimJobs(by: node)
                _ = try transaction.takeLease(by: node)
                if try transaction.keyProof() == nil { try transaction.setKeyProof("sealed") }
                try transaction.renewLease()
                try transaction.releaseLease()
            }
        }
    }

    /// A start with an older copy, once with an empty log and once more.
    private func loss() async throws {
        for number in 1...3 {
            try await store.change { transaction in
                let epoch = try transaction.beginEpoch(named: "e\(number)", at: 1)
                try transaction.noteClock(Timestamp(milliseconds: Int64(number)))
                try transaction.set(Generation(lineage: "l", number: Int64(number), inFile: nil))
                if number < 3 { _ = try transaction.noteLoss(epoch: epoch.name, at: 2) }
            }
        }
    }

    private func messages(_ hub: HubKey) async throws {
        try await store.change { transaction in
            try transaction.add(HubFigures(), hub: hub, at: 1)
            try transaction.add([1_000_000: StreamTimes(first: .milliseconds(1), last: .milliseconds(2))])
            try transaction.dropFigures(at: 1)
        }
        // They share a commit, in which one fails.
        _ = try await store.commit(
            (1...6).map { number in
                { @Sendable transaction in
                    let record = try MessageRecord(id: .random(), tags: "World && !x", body: Array("{}".utf8))
                    let matched = RecipientCounts(total: number, platforms: ["apns": number])
                    let sequence = try transaction.appendMessage(
                        record,
                        hub: hub,
                        at: Timestamp(milliseconds: Int64(number)),
                        enqueuedAt: number == 2 ? 1 : nil,
                        matched: matched
                    )
                    let hash = [UInt8](repeating: UInt8(number), count: 32)
                    try transaction.recordKey("k\(number)", hub: hub, message: record.id, contentHash: hash, at: 3)
                    guard number != 3 else { throw Refused() }
                    if number == 4 { try transaction.keep(testAnswer: "<>", of: sequence, limit: 1) }
                    if number == 5 { try transaction.keep(testAnswer: "<a>", of: sequence, limit: 1) }
                    if number == 6 { try transaction.setMatched(matched, sequence: sequence) }
                }
            }
        )
    }

    /// A phone goes, and an agent stays.
    private func installations(_ hub: HubKey) async throws {
        let phone = Installation(
            id: try InstallationID("phone"),
            platform: .apns,
            pushChannel: .handle("ab"),
            tags: [try Tag("World")],
            templates: ["t": InstallationTemplate(body: #"{"aps":{"alert":"$(a)"}}"#)]
        )
        let agents = try ["World", "Sports", "Science"].map { try Installation.agent("agent", tags: [$0]) }
        let stored = try await store.change { transaction in
            let stored = try transaction.insert(agents[0], channelDigest: [1], hub: hub, at: 1).stored
            _ = try transaction.insert(phone, channelDigest: nil, writer: .unknown, hub: hub, at: 1)
            // No message came meanwhile.
            return try transaction.update(stored, to: agents[1], channelDigest: [2], hub: hub, at: 2).stored
        }
        try await store.append(hub, tags: "World")
        try await store.change { transaction in
            let stored = try transaction.update(stored, to: agents[2], channelDigest: [2], hub: hub, at: 3).stored
            try transaction.note(StreamProgress(ordinal: stored.ordinal, written: 2))
            guard let known = try transaction.installation(hub: hub, id: phone.id) else { throw Refused() }
            var changed = phone
            changed.tags = [try Tag("Sports")]
            let written = try transaction.update(known, to: changed, channelDigest: nil, hub: hub, at: 4).stored
            _ = try transaction.delete(written, hub: hub, at: 5)
        }
    }

    private func registrations(_ hub: HubKey) async throws {
        let registrations = try (1...5).map { number in
            Registration(
                id: try RegistrationID("\(number)-1-1"),
                tags: [try Tag("World")],
                platform: .apns,
                pushChannel: .handle("cd")
            )
        }
        try await store.change { transaction in
            for registration in registrations.prefix(4) {
                let stored = try transaction.put(registration, replacing: nil, hub: hub, at: 1).stored
                var changed = registration
                changed.expirationTime = Timestamp(milliseconds: 90).date
                let renewed = try transaction.put(changed, replacing: stored, hub: hub, at: 2).stored
                changed.tags.append(try Tag("More"))
                _ = try transaction.put(changed, replacing: renewed, writer: .unknown, hub: hub, at: 3)
            }
            let ids = registrations.map(\.id)
            func stored(_ index: Int) throws -> StoredRegistration {
                guard let stored = try transaction.registration(hub: hub, id: ids[index]) else { throw Refused() }
                return stored
            }
            _ = try transaction.delete(try stored(0), tombstone: true, hub: hub, at: 4)
            _ = try transaction.delete(try stored(1), tombstone: true, hub: hub, at: 5)
            _ = try transaction.end(ordinals: [try stored(2).ordinal], tagged: try Tag("More"), hub: hub, at: 6)
            try transaction.revive(ids[1], hub: hub)
            _ = try transaction.put(registrations[4], replacing: nil, hub: hub, at: 7)
            try transaction.dropTombstones(notedBefore: 4, limit: 1)
        }
        try await changeRegistration(hub, tag: "More")
    }

    /// A registration that a message was for changes, so that its former state is kept.
    private func changeRegistration(_ hub: HubKey, tag: String) async throws {
        try await store.append(hub, tags: "World")
        let tag = try Tag(tag)
        try await store.change { transaction in
            let id = try RegistrationID("5-1-1")
            guard let stored = try transaction.registration(hub: hub, id: id) else { throw Refused() }
            var changed = stored.registration
            changed.tags.append(tag)
            _ = try transaction.put(changed, replacing: stored, hub: hub, at: 8)
        }
    }

    private func scheduled(_ hub: HubKey) async throws {
        try await store.change { transaction in
            for number in 1...4 {
                let record = try MessageRecord(id: .random(), tags: nil, body: Array("{}".utf8))
                try transaction.schedule(record, hub: hub, dueAt: Timestamp(milliseconds: Int64(number)), at: 1)
            }
            let due = try transaction.dueMessages(hub: hub, at: 9, limit: 3)
            try transaction.cancel(due[0], hub: hub, at: 2)
            try transaction.cancel(due[1], hub: hub, at: 5)
            _ = try transaction.appendMessage(due[2].record, hub: hub, at: 4, enqueuedAt: due[2].scheduledAt)
            try transaction.forgetScheduled(due[2])
            try transaction.dropCanceled(before: 3)
        }
    }

    private func deliveries(_ hub: HubKey) async throws {
        let keys = try await [
            store.append(hub, tags: "a"), store.append(hub, tags: "b"), store.append(hub, tags: "c"),
        ].map { DeliveryKey(sequence: $0, platform: .apns) }
        let far = Ordinal(rawValue: 70_000)
        try await store.change { transaction in
            for key in keys {
                try transaction.insertDelivery(key, hub: hub, targets: OrdinalSet([1, 2, 3, far]), audience: "a")
            }
            var first = DeliveryProgress()
            first.retries = [1, 2].map {
                DeliveryRetry(key: keys[0], ordinal: $0, attempts: 1, dueAt: 9, reason: "503", collapseKey: "k")
            }
            first.done = [3: .wrongToken]
            first.failures = [DeliveryFailure(ordinal: 3, outcome: .wrongToken, reason: "gone", deadHandle: "ef")]
            try transaction.record(first, of: keys[0], hub: hub, at: 3)
            var second = DeliveryProgress()
            second.done = [1: .success, 2: .success, 3: .success, far: .success]
            second.collapsed = [1: "k"]
            try transaction.record(second, of: keys[1], hub: hub, at: 4)
            var third = DeliveryProgress()
            third.retries = [1, 2].map {
                DeliveryRetry(key: keys[2], ordinal: $0, attempts: 1, dueAt: 9, reason: "503", host: "a.example")
            }
            try transaction.record(third, of: keys[2], hub: hub, at: 5)
            _ = try transaction.dropRetries(of: keys[2], limit: 1)
            try transaction.end(keys[2], as: .abandoned, reason: "late", at: 6)
        }
    }

    private func reports(_ hub: HubKey) async throws {
        let report = PublisherReport(schedule: .pass, lastPass: "", exitCode: 0, outbox: 0, feeds: [])
        let jobs = (1...3).map { number in
            StoredJob(
                hub: hub,
                job: NotificationHubJob(
                    id: "j\(number)",
                    request: .init(kind: .exportRegistrations, outputContainerURI: "c"),
                    status: number == 1 ? .running : .completed,
                    createdAt: 1,
                    updatedAt: 1
                )
            )
        }
        try await store.change { transaction in
            try transaction.setReport(report, publisher: "p", hub: hub, at: 1)
            try transaction.setReport(report, publisher: "q", hub: hub, at: 1 + PublisherReport.lifetime + .seconds(1))
            let asked = try transaction.add(PublisherRequest(.poll, url: "u"), publisher: "q", hub: hub, at: 1)
            _ = try transaction.add(
                PublisherRequest(.pause, url: "u"),
                publisher: "q",
                hub: hub,
                at: 2 + PublisherReport.lifetime
            )
            let again = try transaction.add(PublisherRequest(.poll, url: "u"), publisher: "q", hub: hub, at: 1)
            var later = report
            later.handled = [.init(number: again.number ?? asked.number ?? 0, outcome: "polled")]
            try transaction.setReport(later, publisher: "q", hub: hub, at: 2)
            try transaction.setCategories(["x", "y"], publisher: "p", hub: hub)
            try transaction.setCategories(["z"], publisher: "p", hub: hub)
            try transaction.setAlarmState("{}", hub: hub)
            for job in jobs { try transaction.insert(job) }
            var changed = jobs[0]
            changed.checkpoint = "half"
            _ = try transaction.update(changed)
            _ = try transaction.dropOldJobs(hub: hub, kept: 1)
        }
    }

    private func upkeep(_ hub: HubKey) async throws {
        try await store.change { transaction in
            let noted = Timestamp(milliseconds: 0)...Timestamp(milliseconds: 100)
            try transaction.moveKeys(by: .milliseconds(10), noted: noted)
            _ = try transaction.moveInstants(by: .milliseconds(10), noted: noted, after: 0, limit: 5)
            _ = try transaction.moveRegistrations(by: .milliseconds(10), noted: noted, after: 0, limit: 500)
            try transaction.dropKeys(notedBefore: 12)
            try transaction.endFuture(at: 5, limit: 100)
            _ = try transaction.dropChanges(hub: hub, limit: 1)
            _ = try transaction.dropOldest(expiredBefore: 16, maximumBytes: .max, limit: 4, targets: 1)
            _ = try transaction.dropOldest(expiredBefore: nil, maximumBytes: 20, limit: 50)
            try transaction.put(.generated(name: "r", rights: .send), hub: hub, at: 9)
            _ = try transaction.beginEpoch(named: "last", at: 9)
        }
        // The log has been emptied, and what was kept for its messages.
        try await changeRegistration(hub, tag: "Last")
    }

    /// A second hub is made, changed, filled, deleted, and purged.
    private func deletion() async throws {
        let name = try HubName("other")
        let credential = PlatformCredential(.wns, [.init(name: "SecretKey", value: "open sesame")])
        let rule = AccessRule(name: "r", primaryKey: "p", secondaryKey: "s", rights: .send)
        let hub = try await store.change { transaction in
            var hub = try transaction.insertHub(name, NotificationHubDescription(credentials: [credential]), at: 1)
            hub.description.userMetadata = "changed"
            try transaction.update(hub)
            try transaction.put(rule, hub: hub.record.id, at: 2)
            try transaction.putNamespaceRule(rule, at: 3)
            return hub.record.id
        }
        try await messages(hub)
        try await installations(hub)
        try await registrations(hub)
        try await scheduled(hub)
        try await reports(hub)
        let key = DeliveryKey(sequence: try await store.append(hub), platform: .apns)
        try await store.change { transaction in
            try transaction.insertDelivery(key, hub: hub, targets: OrdinalSet([1, 2, 3]))
            var progress = DeliveryProgress()
            progress.retries = [DeliveryRetry(key: key, ordinal: 1, attempts: 1, dueAt: 9, reason: "503")]
            progress.done = [2: .wrongToken]
            progress.failures = [DeliveryFailure(ordinal: 2, outcome: .wrongToken, reason: "gone")]
            try transaction.record(progress, of: key, hub: hub, at: 3)
            try transaction.deleteHub(id: hub, at: 4)
        }
        var calls = 0
        while try await store.change({ try $0.purge(hub: hub, limit: 2, at: 5) }) == false, calls < 1_000 { calls += 1 }
    }
}
