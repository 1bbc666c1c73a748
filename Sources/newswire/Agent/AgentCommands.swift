import ArgumentParser
import Formats
import Foundation
import HubProtocol
import Settings
import SubscriberAgent

struct UnsubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unsubscribe",
        abstract: "Remove the agent's installation from the hub and delete its choice of categories; keep the inbox."
    )

    @OptionGroup var agent: AgentOptions

    func run() async throws {
        var wasSubscribed = false
        _ = try await agent.withExistingAgent { agent, _ in wasSubscribed = try await agent.unsubscribe() }
        Console.notice(wasSubscribed ? "unsubscribed" : "there was no subscription")
    }
}

struct CategoriesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "categories",
        abstract: "List the hub's categories, and mark the chosen ones.",
        discussion: "The last line is the agent's installation id at the hub, for 'newswire messages show --device'."
    )

    @OptionGroup var agent: AgentOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let hasAgent = try await agent.withExistingAgent { agent, _ in
            try show(try await agent.categories())
            if json { return }
            if let template = try await agent.template().note {
                Console.notice("this agent shows messages \(template)")
            }
            Console.notice("this agent is the device '\(try await agent.installation())'")
        }
        if !hasAgent { try show(try await agent.categoriesWithoutAgent()) }
    }

    private func show(_ categories: [CategoryListing]) throws {
        let rows = categories.map { category in
            let note = category.isKnown == false ? "(no longer announced)" : nil
            return ["\(category.isChosen ? "*" : " ") \(category.name)", note]
        }
        try Console.show(categories, asJSON: json, .rows(rows))
    }
}

struct InboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox",
        abstract: "List the received messages and their states.",
        discussion: """
            The states: pending (its handler has not started), started, done (the handler succeeded), failed (no more \
            retries) and empty (not shown: it has no text in the agent's language or template).

            The inbox keeps the newest 'inbox-size' finished messages. If it has more than are listed, the command \
            prints how many.
            """
    )

    @OptionGroup var agent: AgentOptions

    @Option(help: "The number of messages to list, newest first.")
    var last = 20

    @Flag(help: "List only messages whose handler failed.")
    var failed = false

    @Flag(help: "Print one line of JSON per message.")
    var json = false

    func validate() throws {
        guard last > 0 else { throw ValidationError("--last must be at least 1, not \(last)") }
    }

    func run() async throws {
        let hasAgent = try await agent.withExistingAgent { agent, settings in
            let states = failed ? [InboxRecord.State.failed] : InboxRecord.State.allCases
            let records = try await agent.inbox(last: last, states: states)
            for record in records { Console.show(Self.members(record), asJSON: json, Self.row(record)) }
            let count = try await agent.inboxCount(states: states)
            if count > records.count {
                let size = settings.value(AgentSettings.inboxSize)
                Console.notice("the newest \(records.count) of \(count); the inbox keeps \(size) finished messages")
            }
            let waiting = try await agent.secureCount()
            if waiting > 0 {
                let subject = Counted.text(waiting, "secure notification waits", "secure notifications wait")
                let isLoggedIn = (try? await agent.login()) != nil
                Console.notice("\(subject) for \(isLoggedIn ? "the text" : "you to log in")")
            }
        }
        if !hasAgent { Console.notice("there is no inbox: agent '\(agent.profile)' has never run") }
    }

    private static func row(_ record: InboxRecord) -> Output {
        let text = [record.content.message, record.content.title].first { !$0.isEmpty } ?? record.reason ?? ""
        let isExplained = record.state == .failed || (record.state == .empty && !text.isEmpty && text != record.reason)
        let time = ISODateTime.formatSeconds(record.receivedAt.date)
        let marks = [
            record.sameAs == nil ? nil : "same story", record.relation.status?.rawValue,
            record.supersession.map { "\($0.rawValue) later" },
        ]
        let mark = marks.compactMap(\.self).map { "(\($0)) " }.joined()
        let content = "\(mark)\(record.kind == .gap ? "GAP" : text)"
        return .row(time, record.state.rawValue, content, isExplained ? record.reason.map { "(\($0))" } : nil)
    }

    private static func members(_ record: InboxRecord) -> JSONText {
        let (content, line) = (record.content, InboxLine(record))
        return [
            "attempts": JSONText(record.attempts), "category": JSONText(content.category), "id": JSONText(record.id),
            "kind": JSONText(record.kind.rawValue), "link": JSONText(content.link),
            "message": JSONText(content.message), "reason": JSONText(record.reason),
            "receivedAt": JSONText(ISODateTime.formatSeconds(record.receivedAt.date)),
            "replaces": JSONText(line.replaces), "sameAs": JSONText(line.sameAs),
            "state": JSONText(record.state.rawValue), "status": JSONText(line.status), "story": JSONText(line.story),
            "superseded": JSONText(line.superseded), "title": JSONText(content.title),
        ]
    }
}
