import ArgumentParser
import Formats
import Foundation
import HostSystem
import HubClient
import HubProtocol
import OutboundHTTP
import PushEmulator
import Settings

struct MessagesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "messages",
        abstract: "Show the outcomes of messages, and why a device got a message or not; cancel scheduled messages.",
        subcommands: [
            MessagesListCommand.self, MessagesShowCommand.self, MessagesFailuresCommand.self,
            MessagesInboxCommand.self, MessagesCancelCommand.self,
        ]
    )
}

/// Options for requests to a hub.
///
/// The connection string must grant Manage, as that of publishers and operators does.
struct HubRequestOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions<SenderFlags>

    @Flag(help: "Print JSON.")
    var json = false

    /// Sends a request to the hub, and reports its refusals in the hub's own words.
    func ask<Answer: Sendable>(
        _ question: (HubClient) async throws -> Answer
    ) async throws -> Answer {
        let hub = try HubConnection(configuration.load(), PublisherSettings.connection)
        let string = try hub.sending()
        return try await withHTTP { http in
            let client = try hub.client(string, http: http)
            do {
                return try await question(client)
            } catch let error as HubError {
                switch error {
                // A missing message or device is no error in the configuration. Other hubs do not have the report, nor
                // does a hub of another name.
                case .refused(404, _, _, _), .unsupported: throw Failure(.failed, "\(error)")
                case .refused, .unreachable, .malformedReply, .cancelled: throw error
                }
            }
        }
    }
}

struct MessagesListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the newest messages: time, id, state, number of matching devices, and recipients.",
        discussion: """
            EXAMPLES
              newswire messages list
              newswire messages list --before 1200
              newswire messages list --scheduled
              newswire messages list --last 100 --json | jq '.messages[] | select(.streams.owed > 0) | .id'
            """
    )

    @OptionGroup var options: HubRequestOptions

    @Option(help: "The number of messages to list, at most 100, newest first.")
    var last = 20

    @Option(help: ArgumentHelp("List only messages before this log position.", valueName: "position"))
    var before: Int64?

    @Flag(help: "List only scheduled messages that are not yet due, the next one first.")
    var scheduled = false

    func validate() throws {
        guard (1...100).contains(last) else { throw ValidationError("--last must be 1 to 100, not \(last)") }
        guard before ?? 1 > 0 else { throw ValidationError("--before must be at least 1") }
        guard before == nil || !scheduled else { throw ValidationError("--before and --scheduled cannot be combined") }
    }

    func run() async throws {
        let (last, place, isOfScheduled) = (last, before.map(LogSequence.init(rawValue:)), scheduled)
        let messages = try await options.ask { hub in
            if isOfScheduled { return try await hub.scheduledMessages(last) }
            if let place { return try await hub.messages(before: place, count: last) }
            return try await hub.newestMessages(last)
        }
        let reports = MessageReports(messages: messages)
        try Console.show(reports, asJSON: options.json, .rows(messages.map(MessageText.row)))
    }
}

struct MessagesShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the outcome of a message; with --device, why that device got it or not.",
        discussion: """
            'newswire send' and 'newswire messages list' print the id of a message. Name a device by its push handle \
            or its installation id, which 'newswire categories' prints for an agent. 'written' means that the message \
            was written to the device's stream, and has very probably arrived. It has certainly arrived once the \
            device has reconnected from a later position ('resumed past').

            EXAMPLES
              newswire messages show 5f0c9a3be1d24c6f8a7b90c1d2e3f405
              newswire messages show 5f0c9a3be1d24c6f8a7b90c1d2e3f405 --device 7d1f6c52-newsdesk
              newswire messages show 5f0c9a3be1d24c6f8a7b90c1d2e3f405 --device 62BC348C…
              newswire messages show 5f0c9a3be1d24c6f8a7b90c1d2e3f405 --json | jq .streams
            """
    )

    @OptionGroup var options: HubRequestOptions

    @Argument(help: ArgumentHelp("The message's id.", valueName: "id"), completion: .messages)
    var id: String

    @Option(help: ArgumentHelp("The installation id of a device, or its push handle.", valueName: "device"))
    var device: String?

    func run() async throws {
        let (id, device) = try identifiers()
        let answer = try await options.ask { hub in
            try await Self.answer(of: hub, on: id, device: device)
        }
        switch answer {
        case .report(let report):
            try Console.show(report, asJSON: options.json, .facts(MessageText.facts(report)))
        case .details(let details):
            Console.show(details.json, asJSON: options.json, .facts(details.facts))
            if device != nil, !options.json { Console.warning("this hub does not report on single devices") }
        }
    }

    private enum Answer {
        case report(MessageReport)
        /// The answer of a hub other than newswire.
        case details(NotificationDetails)
    }

    /// Returns the report of a newswire hub, else the telemetry that every hub has.
    private static func answer(
        of hub: HubClient,
        on id: MessageID,
        device: String?
    ) async throws(HubError) -> Answer {
        do {
            return .report(try await hub.report(on: id, device: device))
        } catch {
            guard case .refused(404, _, _, _) = error, let details = try? await hub.details(of: id) else { throw error }
            return .details(details)
        }
    }

    private func identifiers() throws -> (MessageID, String?) {
        if let device, device.isEmpty || device.contains(" ") || device.utf8.count > PushChannel.maximumLength {
            throw Failure(.usage, "--device is neither an installation's id nor a push handle")
        }
        return (try MessageID(argument: id), device)
    }
}

struct MessagesFailuresCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "failures",
        abstract: "List the devices on push services that a message could not be sent to, with reasons.",
        discussion: """
            The hub keeps the reasons for up to 100,000 devices per message and platform, for as long as the message.

            EXAMPLES
              newswire messages failures 5f0c9a3be1d24c6f8a7b90c1d2e3f405
              newswire messages failures 5f0c9a3be1d24c6f8a7b90c1d2e3f405 --json | jq -r .reason | sort | uniq -c
            """
    )

    @OptionGroup var options: HubRequestOptions

    @Argument(help: ArgumentHelp("The message's id.", valueName: "id"), completion: .messages)
    var id: String

    func run() async throws {
        let id = try MessageID(argument: id)
        var from: String?
        repeat {
            let start = from
            let page = try await options.ask { hub in try await hub.failures(of: id, from: start, count: nil) }
            for target in page.targets {
                try Console.show(target, asJSON: options.json, .rows([MessageText.row(target)]))
            }
            from = page.next
        } while from != nil
    }
}

struct MessagesInboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox",
        abstract: "Show what a device would have received from the push services that 'hub --emulate' emulates.",
        discussion: """
            Name a device by its push handle: a token, a channel URI or a subscription's endpoint. Headers are shown \
            as the push service would have received them; messages to browsers are decrypted.

            EXAMPLES
              newswire messages inbox 00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0
            """
    )

    @OptionGroup var options: HubRequestOptions

    @Argument(help: ArgumentHelp("The device's push handle.", valueName: "handle"))
    var handle: String

    func run() async throws {
        let handle = handle
        let inbox = try await options.ask { hub in try await hub.emulatedInbox(of: handle) }
        if options.json { return Console.print(String(decoding: inbox, as: UTF8.self)) }
        let deliveries = try InboxDocument.decode(inbox).deliveries
        if deliveries.isEmpty { Console.notice("nothing was sent to this handle") }
        Console.show(.lines(deliveries.flatMap(MessageText.lines)))
    }
}

struct MessagesCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel a scheduled message before it is sent.",
        discussion: """
            'newswire send --at' prints the id; 'newswire messages list --scheduled' lists the scheduled messages.

            EXAMPLES
              newswire messages cancel 5f0c9a3be1d24c6f8a7b90c1d2e3f405
            """
    )

    @OptionGroup var options: HubRequestOptions

    @Argument(help: ArgumentHelp("The message's id.", valueName: "id"), completion: .scheduledMessages)
    var id: String

    func run() async throws {
        let id = try MessageID(argument: id)
        let isCanceled = try await options.ask { hub in try await hub.cancel(id) }
        guard isCanceled else {
            throw Failure(
                .failed,
                "there is no scheduled message '\(id)' at this hub",
                hint: "'newswire messages list --scheduled' lists the scheduled messages"
            )
        }
        Console.show(["canceled": JSONText(id.text)], asJSON: options.json, .row("canceled \(id)"))
    }
}

extension MessageID {
    /// Parses an id from the command line.
    init(argument text: String) throws(Failure) {
        do {
            try self.init(text)
        } catch {
            throw Failure(.usage, error.detail, hint: "'newswire messages list' shows the ids of messages")
        }
    }
}
