import ArgumentParser
import Foundation
import HostSystem
import HubClient
import HubProtocol
import OutboundHTTP
import Settings

struct MessagesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "messages",
        abstract: "Tell what became of messages, and why a device got one or did not.",
        subcommands: [MessagesListCommand.self, MessagesShowCommand.self]
    )
}

/// The hub that is asked; its key must grant Manage, as that of publishers and operators does.
struct InquiryOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Print JSON.")
    var json = false

    /// Asks the hub, in whose words a refusal is said.
    func ask<Answer: Sendable>(
        _ question: (HubClient) async throws(HubClientError) -> Answer
    ) async throws -> Answer {
        let hub = try connection.resolved(configuration.load(), PublisherSettings.connection)
        let string = try hub.sending()
        return try await withHTTP { http in
            let client = try hub.client(string, http: http)
            do throws(HubClientError) {
                return try await question(client)
            } catch {
                // What is not there is no mistake in the configuration.
                if case .refused(404, _, _, _) = error { throw Failure(.failed, "\(error)") }
                throw Failure(hub: error)
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
              newswire messages list --last 100 --json | jq '.messages[] | select(.streams.owed > 0) | .id'
            """
    )

    @OptionGroup var inquiry: InquiryOptions

    @Option(help: "How many of the newest to list, at most 100.")
    var last = 20

    func validate() throws {
        guard (1...100).contains(last) else { throw ValidationError("--last must be 1 to 100, not \(last)") }
    }

    func run() async throws {
        try await reportingFailures {
            let last = last
            let messages = try await inquiry.ask { (hub) async throws(HubClientError) in
                try await hub.newestMessages(last)
            }
            if inquiry.json { return Console.print(try JSON.line(MessageReports(messages: messages))) }
            for message in messages { Console.print(MessageText.line(message)) }
        }
    }
}

struct MessagesShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Tell what became of a message; with --device, why that device got it or did not.",
        discussion: """
            The id is what 'newswire send' prints and 'newswire messages list' shows. A device is named by its \
            installation id, which 'newswire categories' tells at an agent. A stream that was 'written' a message has it in all likelihood; that it arrived is known \
            when the device comes back from beyond it ('resumed past').

            EXAMPLES
              newswire messages show 5f0c9a3be1d24c6f8a7b90c1d2e3f405
              newswire messages show 5f0c9a3be1d24c6f8a7b90c1d2e3f405 --device 7d1f6c52-newsdesk
              newswire messages show 5f0c9a3be1d24c6f8a7b90c1d2e3f405 --json | jq .streams
            """
    )

    @OptionGroup var inquiry: InquiryOptions

    @Argument(help: ArgumentHelp("The message's id.", valueName: "id"))
    var id: String

    @Option(help: ArgumentHelp("The installation id of a device.", valueName: "device"))
    var device: String?

    func run() async throws {
        try await reportingFailures {
            let (id, device) = try identifiers()
            let report = try await inquiry.ask { (hub) async throws(HubClientError) in
                try await hub.report(on: id, device: device)
            }
            if inquiry.json { return Console.print(try JSON.line(report)) }
            for line in MessageText.lines(report) { Console.print(line) }
        }
    }

    private func identifiers() throws -> (MessageID, InstallationID?) {
        do {
            return (try MessageID(id), try device.map { try InstallationID($0) })
        } catch let error as ProtocolError {
            throw Failure(.usage, error.detail, hint: "'newswire messages list' shows ids of messages")
        }
    }
}
