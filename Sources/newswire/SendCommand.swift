import ArgumentParser
import Foundation
import HubClient
import HubProtocol
import OutboundHTTP
import Settings

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send one message by hand.",
        discussion: """
            EXAMPLES
              newswire send --tags World --message "Breaking: the bridge is open"
              newswire send --tags 'World && !Sports' --message "…" --property link=https://example.org/
              newswire send --message "to everybody"
            """
    )

    @OptionGroup var configuration: ConfigurationOptions

    @OptionGroup var connection: ConnectionOptions

    @Option(
        help: ArgumentHelp("Whom it is for, such as 'World && !Sports'; everybody without it.", valueName: "expression")
    )
    var tags: String?

    @Option(help: ArgumentHelp("The text: the property messageParam.", valueName: "text"))
    var message: String?

    @Option(help: ArgumentHelp("A property that templates may name; can be given again.", valueName: "name=value"))
    var property: [String] = []

    @Flag(help: "Print JSON.")
    var json = false

    private struct Sent: Encodable {
        let id: String
        let recipients: [String: Int]?
    }

    func run() async throws {
        try await reportingFailures {
            let properties = try properties()
            try checkTags()
            let hub = try connection.resolved(configuration.load(), PublisherSettings.connection)
            let string = try hub.sending()
            try await withHTTP { http in
                let client = try hub.client(string, http: http)
                let key = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }.joined()
                let counts: RecipientCounts?
                let id: MessageID?
                do throws(HubClientError) {
                    counts = try await client.recipients(tags: tags ?? "")
                    id = try await client.send(properties.encoded(), tags: tags, idempotencyKey: key)
                } catch {
                    throw Failure(hub: error)
                }
                try report(id, counts)
            }
        }
    }

    /// An unset variable of a script must not become a message to everybody.
    private func checkTags() throws {
        guard let tags else { return }
        if tags.allSatisfy(\.isWhitespace) {
            throw Failure(.usage, "--tags is empty", hint: "leave --tags away to send to everybody")
        }
        if tags.contains(",") {
            let either = tags.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            throw Failure(
                .usage,
                "--tags '\(tags)' is no tag expression",
                hint: "write '\(either.joined(separator: " || "))' for those who have any of them"
            )
        }
    }

    private func properties() throws -> MessageProperties {
        var values: [String: String] = [:]
        for text in property {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw Failure(.usage, "--property '\(text)' is not of the form name=value")
            }
            values[parts[0]] = parts[1]
        }
        if let message {
            guard !message.allSatisfy(\.isWhitespace) else {
                throw Failure(.usage, "--message is empty", hint: "pass a text, or --property NAME=VALUE alone")
            }
            values["messageParam"] = message
            if values["title"] == nil { values["title"] = message }
        }
        guard !values.isEmpty else {
            throw Failure(.usage, "there is nothing to send", hint: "pass --message TEXT or --property NAME=VALUE")
        }
        do {
            return try MessageProperties(json: MessageProperties(values).encoded())
        } catch {
            throw Failure(.usage, "the message cannot be sent: \(error)")
        }
    }

    private func report(_ id: MessageID?, _ counts: RecipientCounts?) throws {
        if json {
            return Console.print(try JSON.line(Sent(id: id?.text ?? "", recipients: counts?.platforms)))
        }
        Console.print("sent \(id?.text ?? "")")
        guard let counts else { return }
        if counts.total == 0 {
            Console.warning("nobody is registered for \(tags.map { "'\($0)'" } ?? "anything")")
        } else {
            let platforms = counts.platforms.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            Console.notice("owed to \(counts.total): \(platforms.joined(separator: ", "))")
        }
    }
}

extension Failure {
    /// How a command that needs the hub ends when the hub does not do it.
    init(hub error: HubClientError) {
        switch error {
        case .unreachable, .malformedReply: self.init(.hubUnreachable, "\(error)", hint: "is the hub running?")
        case .refused(let status, _, _, _) where [401, 403, 404].contains(status):
            self.init(.badConfiguration, "\(error)")
        case .refused(let status, _, _, _) where status == 429 || status >= 500: self.init(.tryLater, "\(error)")
        case .refused, .cancelled: self.init(.failed, "\(error)")
        }
    }
}
