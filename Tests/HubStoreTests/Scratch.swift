import Foundation
import GRDB
import HubProtocol
import HubRouting

@testable import HubStore

/// A hub's file in a folder of its own, which goes with the object.
final class Scratch: Sendable {
    let folder: String
    var path: String { folder + "/hub.sqlite" }

    init() throws {
        folder = NSTemporaryDirectory() + "hubstore-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// A store with the hub `news`.
    func store(maximumPages: Int? = nil) async throws -> (HubStore, hub: HubKey) {
        let store = try HubStore(path: path, maximumPages: maximumPages)
        if let known = try await store.hubs().first { return (store, known.id) }
        let name = try HubName("news")
        let rules = [AccessRule.generated(name: "Listen", rights: .listen)]
        return (store, try await store.change { try $0.insertHub(name, rules: rules, at: 0) }.id)
    }

    /// Reads the file by itself, beside the store.
    func read<Value: Sendable>(_ body: @Sendable @escaping (Database) throws -> Value) async throws -> Value {
        try await DatabaseQueue(path: path).read(body)
    }
}

extension HubStore {
    /// A node's store, which has joined its log.
    static func joined(_ path: String, _ log: some OrderedLog) async throws -> HubStore {
        let store = try HubStore(path: path, log: log)
        try await store.join()
        return store
    }

    /// Commits one change alone.
    @discardableResult
    func change<Output: Sendable>(_ member: @escaping @Sendable (Transaction) throws -> Output) async throws -> Output {
        let results = try await commit([member])
        return try results[0].get()
    }

    @discardableResult
    func append(_ hub: HubKey, _ body: String = "{}", tags: String? = nil, at: Timestamp = 0) async throws
        -> LogSequence
    {
        try await change {
            try $0.appendMessage(MessageRecord(id: .random(), tags: tags, body: Array(body.utf8)), hub: hub, at: at)
        }
    }
}

extension Installation {
    /// An agent with the standard template.
    static func agent(_ id: String, tags: [String] = []) throws -> Installation {
        Installation(
            id: try InstallationID(id),
            platform: .stream,
            pushChannel: .handle(PushChannelSecret.random().text),
            tags: try tags.map { try Tag($0) },
            templates: [AgentTemplate.name: InstallationTemplate(body: AgentTemplate.body)]
        )
    }
}

struct Refused: Error, Equatable {}
