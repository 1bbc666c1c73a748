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
            Without --format, it sends a template message, which each device shows through its own template. A message \
            in another format is sent unchanged, to the devices of one platform; stream is for agents. The formats: \
            \(MessageFormat.known.map(\.rawValue).joined(separator: ", ")).

            --title, --link and --urgency are the properties of these names. A message with a text gets a story, so that \
            --correct and --withdraw can replace it later, at the recipients of the original: agents, browsers and pages \
            show the newer one in its place. A correction replaces title and text together (without --title, the text is \
            the title), keeps category, link, image, source and urgency, and drops other properties.

            --category sends breaking news: each category gets its own message, whose text comes from the template of \
            the category's feed list, else "Breaking $(category) News : $(title)". 'all' means every category that the \
            hub knows. The command prints one line per category.

            EXAMPLES
              newswire send --category World,Sports --message "The bridge is open"
              newswire send --category all --message "…"
              newswire send --category World --title "The bridge is open" --message "Traffic flows again." --dry-run
              newswire send --correct 5f0c9a3be1d24c6f8a7b90c1d2e3f405 --title "The bridge opens tomorrow"
              newswire send --withdraw 5f0c9a3be1d24c6f8a7b90c1d2e3f405
              newswire send --tags World --message "Breaking: the bridge is open"
              newswire send --tags 'World && !Sports' --message "…" --property link=https://example.org/
              newswire send --message "to everybody"
              newswire send --tags World --message "Good morning" --at "$(date -ud +2hours +%FT%TZ)"
              newswire send --category all --message "…" --idempotency-key 5f0c21d09be14a77
              newswire send --format stream --payload notice.json --tags World
              newswire send --format apple --payload alert.json --device 62BC348C…
              newswire send --format apple --payload alert.json --tags World --test
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<SendFlags>

    @Option(
        help: ArgumentHelp("The recipients, such as 'World && !Sports' (default: everybody).", valueName: "expression")
    )
    var tags: String?

    @Option(
        help: ArgumentHelp(
            "The categories, separated by commas; each gets its own message.",
            valueName: "names|all"
        ),
        completion: .categories
    )
    var category: String?

    @Option(
        help: ArgumentHelp(
            "The text: the property messageParam; with --title, also the property summary.",
            valueName: "text"
        )
    )
    var message: String?

    @Option(help: ArgumentHelp("The title (default: the text).", valueName: "text"))
    var title: String?

    @Option(help: ArgumentHelp("The address of the story's page.", valueName: "url"))
    var link: String?

    @Option(help: "The urgency.")
    var urgency: MessageUrgency?

    @Option(
        help: ArgumentHelp(
            "Correct sent messages of one story, by their ids with commas between them.",
            valueName: "ids"
        ),
        completion: .messages
    )
    var correct: String?

    @Option(
        help: ArgumentHelp(
            "Withdraw sent messages of one story, by their ids with commas between them.",
            valueName: "ids"
        ),
        completion: .messages
    )
    var withdraw: String?

    @Option(help: ArgumentHelp("A property for templates; can be repeated.", valueName: "name=value"))
    var property: [String] = []

    @Option(
        help: ArgumentHelp("The format of the payload (default: template).", valueName: "format"),
        completion: .formats
    )
    var format: String?

    @Option(
        help: ArgumentHelp(
            "The file with the payload in that format; for a template message, its properties in JSON.",
            valueName: "file"
        ),
        completion: .file()
    )
    var payload: String?

    @Option(help: ArgumentHelp("Send directly to this push handle, without tags.", valueName: "handle"))
    var device: String?

    @Option(
        help: ArgumentHelp(
            "Send the message at this time, in UTC or with a zone; at most seven days ahead.",
            valueName: "time"
        )
    )
    var at: String?

    @Option(
        help: ArgumentHelp(
            "Repeat an earlier command whose outcome is unknown: a newswire hub sends nothing twice with one key.",
            valueName: "key"
        )
    )
    var idempotencyKey: String?

    @Flag(help: "Send the message to at most ten matching devices, and print the outcome of each.")
    var test = false

    @Flag(help: "Show the message and the number of its recipients; send nothing.")
    var dryRun = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        if let replacement = try replacement() { return try await send(replacement) }
        if let category { return try await send(toCategories: category) }
        if configuration.flags.has(PublisherSettings.feeds.entry) {
            throw Failure(.usage, "--feeds needs --category, --correct or --withdraw")
        }
        let outgoing = try outgoing()
        let time = try time()
        try await withHub(configuration.load()) { client in
            do {
                try report(try await send(outgoing, at: time, client))
            } catch let error as UnconfirmedSend {
                throw error.failure("; it is unknown whether the message was sent", hint: Self.repeatHint(outgoing))
            }
        }
    }

    private static func repeatHint(_ message: OutgoingMessage) -> String {
        "repeat the command with --idempotency-key \(message.idempotencyKey ?? ""): a newswire hub sends nothing twice"
    }

    /// Sends a message.
    ///
    /// - Throws: ``UnconfirmedSend`` if the hub may have accepted the message; a `HubError` if it has not.
    func send(_ message: OutgoingMessage, at time: Date?, _ client: HubClient) async throws -> SentMessage {
        var sent = SentMessage()
        if time == nil || dryRun, !test, message.device == nil {
            sent.recipients = try await HubError.ifSupported { () throws(HubError) in
                try await client.recipients(tags: message.tags ?? "", format: message.format)
            }
        }
        if dryRun {
            sent.preview = message
            sent.scheduledFor = time
            return sent
        }
        do throws(HubError) {
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

/// The error of a send whose outcome is unknown.
struct UnconfirmedSend: Error {
    let cause: HubError

    /// Returns the failure of the command, with `text` appended to its message.
    func failure(_ text: String, hint: String) -> Failure {
        let failure = Failure(cause)
        return Failure(failure.status, failure.text + text, hint: hint)
    }
}
