import ArgumentParser
import Foundation
import HostSystem
import HubClient
import HubProtocol
import OutboundHTTP
import Settings

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send one message by hand.",
        discussion: """
            Without --format it is a template message: each device shows it through a template of its own. A message of \
            another format is sent as it is, to the devices of its platform: apple, gcm, fcmv1, windows, windowsphone, adm, \
            baidu, browser, xiaomi, and stream, which is for agents.

            --category sends breaking news: each category gets a message of its own, whose text comes from the template of \
            the category's feed list, else "Breaking $(category) News : $(title)". 'all' means every category that \
            the hub knows. One line is printed for each category.

            EXAMPLES
              newswire send --category World,Sports --message "The bridge is open"
              newswire send --category all --message "…"
              newswire send --tags World --message "Breaking: the bridge is open"
              newswire send --tags 'World && !Sports' --message "…" --property link=https://example.org/
              newswire send --message "to everybody"
              newswire send --tags World --message "Good morning" --at 2030-01-02T06:00:00Z
              newswire send --category all --message "…" --idempotency-key 5f0c21d09be14a77
              newswire send --format stream --payload notice.json --tags World
              newswire send --format apple --payload alert.json --device 62BC348C…
              newswire send --format apple --payload alert.json --tags World --test
            """
    )

    @OptionGroup var configuration: ConfigurationOptions

    @OptionGroup var connection: ConnectionOptions

    @Option(
        help: ArgumentHelp("Recipients, such as 'World && !Sports'; without it, everybody.", valueName: "expression")
    )
    var tags: String?

    @Option(
        help: ArgumentHelp(
            "The categories that each get the message in a text of their own, with commas between them.",
            valueName: "names|all"
        )
    )
    var category: String?

    @Option(PublisherSettings.feeds)
    var feeds: String?

    @Option(help: ArgumentHelp("The text: the property messageParam.", valueName: "text"))
    var message: String?

    @Option(help: ArgumentHelp("A property that templates may name; can be given again.", valueName: "name=value"))
    var property: [String] = []

    @Option(help: ArgumentHelp("The format of the payload (default: template).", valueName: "format"))
    var format: String?

    @Option(
        help: ArgumentHelp(
            "The message itself, as its format has it; of a template message its properties in JSON.",
            valueName: "file"
        )
    )
    var payload: String?

    @Option(help: ArgumentHelp("One push handle that it is sent to directly, without tags.", valueName: "handle"))
    var device: String?

    @Option(
        help: ArgumentHelp(
            "Send it later, at most seven days ahead: a time in UTC, or with its zone.",
            valueName: "time"
        )
    )
    var at: String?

    @Option(
        help: ArgumentHelp(
            "The key of an earlier command whose outcome is unknown: a newswire hub sends nothing twice under one key.",
            valueName: "key"
        )
    )
    var idempotencyKey: String?

    @Flag(help: "Send it to at most ten of the devices that match, and print the outcome of each.")
    var test = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        if let category { return try await send(toCategories: category) }
        if feeds != nil { throw Failure(.usage, "--feeds needs --category") }
        let outgoing = try outgoing()
        let time = try time()
        let hub = try connection.resolved(configuration.load(), PublisherSettings.connection)
        let string = try hub.sending()
        try await withHTTP { http in
            let client = try hub.client(string, http: http)
            do {
                try report(try await send(outgoing, at: time, client))
            } catch let error as UnconfirmedSend {
                throw error.failure("; it is unknown if the message was sent", hint: Self.repeatHint(outgoing))
            }
        }
    }

    private static func repeatHint(_ message: OutgoingMessage) -> String {
        "repeat the command with --idempotency-key \(message.idempotencyKey ?? ""): a newswire hub sends nothing twice"
    }

    /// Sends a message.
    ///
    /// - Throws: ``UnconfirmedSend`` if the hub may have the message nevertheless; a `HubClientError` if it does not.
    func send(_ message: OutgoingMessage, at time: Date?, _ client: HubClient) async throws -> SentMessage {
        var sent = SentMessage()
        if time == nil, !test, message.device == nil {
            sent.recipients = try await client.recipients(tags: message.tags ?? "", format: message.format)
        }
        do throws(HubClientError) {
            if let time {
                sent.id = try await client.schedule(message, at: time)
                sent.scheduledFor = time
            } else if test {
                let (id, outcome) = try await client.test(message)
                sent.id = id
                sent.outcome = outcome
            } else {
                sent.id = try await client.send(message)
            }
        } catch {
            throw error.isCertain ? error : UnconfirmedSend(cause: error)
        }
        return sent
    }
}

/// A message that the hub may or may not have.
struct UnconfirmedSend: Error {
    let cause: HubClientError

    /// Returns the failure of the command, with additional text.
    func failure(_ text: String, hint: String) -> Failure {
        let failure = Failure(cause)
        return Failure(failure.status, failure.text + text, hint: hint)
    }
}
