import ArgumentParser
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
        abstract: "Show the outcomes of messages, and why a device got one or did not; cancel scheduled ones.",
        subcommands: [
            MessagesListCommand.self, MessagesShowCommand.self, MessagesFailuresCommand.self,
            MessagesInboxCommand.self, MessagesCancelCommand.self,
        ]
    )
}

/// Options for questions to a hub; its key must grant Manage, as that of publishers and operators does.
struct InquiryOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Print JSON.")
    var json = false

    /// Asks the hub, and reports its refusals in its own words.
    func ask<Answer: Sendable>(
        _ question: (HubClient) async throws -> Answer
    ) async throws -> Answer {
        let hub = try connection.resolved(configuration.load(), PublisherSettings.connection)
        let string = try hub.sending()
        return try await withHTTP { http in
            let client = try hub.client(string, http: http)
            do {
                return try await question(client)
            } catch HubClientError.refused(404, let code, let detail, let retryAfter) {
                // What is not there is no mistake in the configuration.
                let error = HubClientError.refused(status: 404, code: code, detail: detail, retryAfter: retryAfter)
                throw Failure(.failed, "\(error)")
            }
        }
    }
}

struct MessagesListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the newest messages: time, id, state, how many they matched, and for whom they are.",
        discussion: """
            EXAMPLES
              newswire messages list
              newswire messages list --before 1200
              newswire messages list --scheduled
              newswire messages list --last 100 --json | jq '.messages[] | select(.streams.owed > 0) | .id'
            """
    )

    @OptionGroup var inquiry: InquiryOptions

    @Option(help: "How many of the newest to list, at most 100.")
    var last = 20

    @Option(help: ArgumentHelp("Only messages before this position of the log.", valueName: "position"))
    var before: Int64?

    @Flag(help: "Only messages that wait for their time, the next one first.")
    var scheduled = false

    func validate() throws {
        guard (1...100).contains(last) else { throw ValidationError("--last must be 1 to 100, not \(last)") }
        guard before ?? 1 > 0 else { throw ValidationError("--before must be at least 1") }
        guard before == nil || !scheduled else { throw ValidationError("--before and --scheduled exclude each other") }
    }

    func run() async throws {
        let (last, place, isOfScheduled) = (last, before.map(LogSequence.init(rawValue:)), scheduled)
        let messages = try await inquiry.ask { hub in
            if isOfScheduled { return try await hub.scheduledMessages(last) }
            if let place { return try await hub.messages(before: place, count: last) }
            return try await hub.newestMessages(last)
        }
        if inquiry.json { return Console.print(try JSON.line(MessageReports(messages: messages))) }
        for message in messages { Console.print(MessageText.line(message)) }
    }
}

struct MessagesShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the outcome of a message; with --device, why that device got it or did not.",
        discussion: """
            The id is what 'newswire send' prints and 'newswire messages list' shows. A device is named by its \
            installation id, which 'newswire categories' tells at an agent, or by its push handle. A stream that was 'written' a message has it in all likelihood; that it arrived is known \
            when the device comes back from beyond it ('resumed past').

            EXAMPLES
              newswire messages show 5f0c9a3be1d24c6f8a7b90c1d2e3f405
              newswire messages show 5f0c9a3be1d24c6f8a7b90c1d2e3f405 --device 7d1f6c52-newsdesk
              newswire messages show 5f0c9a3be1d24c6f8a7b90c1d2e3f405 --device 62BC348C…
              newswire messages show 5f0c9a3be1d24c6f8a7b90c1d2e3f405 --json | jq .streams
            """
    )

    @OptionGroup var inquiry: InquiryOptions

    @Argument(help: ArgumentHelp("The message's id.", valueName: "id"))
    var id: String

    @Option(help: ArgumentHelp("The installation id of a device, or its push handle.", valueName: "device"))
    var device: String?

    func run() async throws {
        let (id, device) = try identifiers()
        let answer = try await inquiry.ask { hub in
            try await Self.answer(of: hub, on: id, device: device)
        }
        switch answer {
        case .report(let report):
            if inquiry.json { return Console.print(try JSON.line(report)) }
            for line in MessageText.lines(report) { Console.print(line) }
        case .details(let details):
            if inquiry.json { return Console.print(try JSON.line(TelemetryLine(details))) }
            for line in MessageText.lines(details) { Console.print(line) }
            if device != nil { Console.warning("this hub does not report on single devices") }
        }
    }

    private enum Answer {
        case report(MessageReport)
        /// The answer of a hub other than ours.
        case details(NotificationDetails)
    }

    /// Returns our hub's report, else the telemetry that every hub has.
    private static func answer(
        of hub: HubClient,
        on id: MessageID,
        device: String?
    ) async throws(HubClientError) -> Answer {
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
        abstract: "List the devices on push services that were not sent a message, with the reason for each.",
        discussion: """
            The hub keeps the reasons of up to 100,000 devices of a message on one platform, for as long as the message.

            EXAMPLES
              newswire messages failures 5f0c9a3be1d24c6f8a7b90c1d2e3f405
              newswire messages failures 5f0c9a3be1d24c6f8a7b90c1d2e3f405 --json | jq -r .reason | sort | uniq -c
            """
    )

    @OptionGroup var inquiry: InquiryOptions

    @Argument(help: ArgumentHelp("The message's id.", valueName: "id"))
    var id: String

    func run() async throws {
        let id = try MessageID(argument: id)
        var from: String?
        repeat {
            let start = from
            let page = try await inquiry.ask { hub in try await hub.failures(of: id, from: start) }
            for target in page.targets {
                Console.print(inquiry.json ? try JSON.line(target) : MessageText.line(target))
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
            A device is named by its push handle: a token, a channel URI or a subscription's endpoint. Headers are shown \
            as the push service would have seen them, the messages of browsers decrypted.

            EXAMPLES
              newswire messages inbox 00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0
            """
    )

    @OptionGroup var inquiry: InquiryOptions

    @Argument(help: ArgumentHelp("The device's push handle.", valueName: "handle"))
    var handle: String

    func run() async throws {
        let handle = handle
        let inbox = try await inquiry.ask { hub in try await hub.emulatedInbox(of: handle) }
        if inquiry.json { return Console.print(String(decoding: inbox, as: UTF8.self)) }
        let deliveries = try InboxDocument.decode(inbox).deliveries
        if deliveries.isEmpty { Console.notice("nothing has come for this handle") }
        for delivery in deliveries {
            for line in MessageText.lines(delivery) { Console.print(line) }
        }
    }
}

struct MessagesCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Take a scheduled message back before its time.",
        discussion: """
            The id is what 'newswire send --at' prints; 'newswire messages list' shows the messages that wait.

            EXAMPLES
              newswire messages cancel 5f0c9a3be1d24c6f8a7b90c1d2e3f405
            """
    )

    @OptionGroup var inquiry: InquiryOptions

    @Argument(help: ArgumentHelp("The message's id.", valueName: "id"))
    var id: String

    func run() async throws {
        let id = try MessageID(argument: id)
        let isCanceled = try await inquiry.ask { hub in try await hub.cancel(id) }
        guard isCanceled else {
            throw Failure(
                .failed,
                "there is no scheduled message '\(id)' at this hub",
                hint: "'newswire messages list' shows those that wait"
            )
        }
        Console.print(inquiry.json ? try JSON.line(["canceled": id.text]) : "canceled \(id)")
    }
}

extension MessageID {
    /// Makes an id as it was typed.
    fileprivate init(argument text: String) throws(Failure) {
        do {
            try self.init(text)
        } catch {
            throw Failure(.usage, error.detail, hint: "'newswire messages list' shows ids of messages")
        }
    }
}
