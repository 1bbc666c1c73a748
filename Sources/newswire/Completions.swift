import AppBackend
import ArgumentParser
import FeedLists
import Foundation
import HostSystem
import HubClient
import HubProtocol
import OutboundHTTP
import Settings
import SubscriberAgent

/// Values that a shell offers for options and arguments.
///
/// A completion is silent and quick: what cannot be found within ``patience`` is not offered.
extension CompletionKind {
    /// The hub's categories, else those of the feed lists; several can be joined with commas.
    static let categories = CompletionKind.custom { _, _, prefix in
        Candidates.joined(await Candidates.categories(), prefix)
    }

    /// The categories of the feed lists.
    static let listedCategories = CompletionKind.custom { _, _, _ in Candidates.listedCategories() }

    /// The hubs of the server on this machine.
    static let hubs = CompletionKind.custom { _, _, _ in await Candidates.hubs() }

    /// The agents of this user.
    static let profiles = CompletionKind.custom { _, _, _ in Candidates.profiles() }

    /// The users of the app backend on this machine.
    static let users = CompletionKind.custom { _, _, _ in await Candidates.users() }

    /// The hub's newest messages.
    static let messages = CompletionKind.custom { _, _, _ in await Candidates.messages(areScheduled: false) }

    /// Scheduled messages that are not yet due.
    static let scheduledMessages = CompletionKind.custom { _, _, _ in await Candidates.messages(areScheduled: true) }

    static let formats = CompletionKind.list(MessageFormat.known.map(\.rawValue))

    /// The platforms of an app backend; several can be joined with commas.
    static let platforms = CompletionKind.custom { _, _, prefix in
        Candidates.joined(AppBackend.platformNames + ["all"], prefix)
    }
}

private enum Candidates {
    /// Longest wait for a hub.
    static let patience = Duration.milliseconds(800)
    /// Largest number of values of one kind.
    static let maximum = 500

    static func categories() async -> [String] {
        let known = await timed {
            let hub = try connection(AgentSettings.connection)
            guard let string = try hub.named() ?? hub.local(.listen) else { return [String]() }
            return try await withHTTP { try await hub.client(string, http: $0).listedCategories() ?? [] }
        }
        let found = known ?? []
        return (found.isEmpty ? listedCategories() : found).prefix(maximum).map(TerminalText.safe)
    }

    static func listedCategories() -> [String] {
        guard let settings = try? settings() else { return [] }
        let lists = try? FeedLists.load(directory: settings.value(PublisherSettings.feeds))
        return lists?.categories.map(\.text) ?? []
    }

    static func hubs() async -> [String] {
        let found = await timed {
            let hub = try connection(PublisherSettings.connection)
            guard let string = try hub.local(.namespace) else { return [String]() }
            return try await withHTTP { http in
                let client = try NamespaceClient(
                    connection: string,
                    http: http,
                    allowPlainHTTP: false,
                    certificateAuthorities: nil
                )
                return try await client.hubs().map(\.name.text)
            }
        }
        return Array((found ?? []).prefix(maximum))
    }

    static func users() async -> [String] {
        let found = await timed {
            let options = try UserOptions.parse([])
            return try await options.run { try await $0.list() }.map(\.name.text)
        }
        return Array((found ?? []).prefix(maximum))
    }

    static func messages(areScheduled: Bool) async -> [String] {
        let found = await timed {
            let hub = try connection(PublisherSettings.connection)
            return try await withHTTP { http in
                let client = try hub.client(try hub.sending(), http: http)
                let messages = areScheduled ? client.scheduledMessages : client.newestMessages
                return try await messages(50).map { "\($0.id)" }
            }
        }
        return (found ?? []).map(TerminalText.safe)
    }

    static func profiles() -> [String] {
        let environment = ProcessInfo.processInfo.environment
        guard let folder = try? StateDirectory.path(role: "agent", environment: environment) else { return [] }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { HostFile.exists("\(folder)/\($0)/\(SubscriberAgent.databaseName)") }.sorted()
    }

    /// Completes the last of several words that are joined with commas.
    static func joined(_ words: [String], _ prefix: String) -> [String] {
        guard let comma = prefix.lastIndex(of: ",") else { return words }
        let first = prefix[...comma]
        let chosen = Set(first.split(separator: ",").map { $0.lowercased() })
        return words.filter { !chosen.contains($0.lowercased()) }.map { first + $0 }
    }

    private static func settings() throws -> Settings {
        try Settings.load(
            file: nil,
            environment: ProcessInfo.processInfo.environment,
            otherVariables: Program.otherVariables
        )
    }

    private static func connection(_ connection: ConnectionSettings) throws -> HubConnection {
        try HubConnection(settings(), connection)
    }

    /// Returns `nil` if the work fails, or takes longer than ``patience``.
    private static func timed<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async -> Value? {
        await withTaskGroup(of: Value?.self) { group in
            group.addTask { try? await work() }
            group.addTask {
                try? await Task.sleep(for: patience)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
