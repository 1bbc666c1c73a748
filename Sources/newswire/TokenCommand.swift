import ArgumentParser
import Foundation
import HubProtocol
import Settings

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Print a token for calls of the hub's REST API by other programs.",
        discussion: """
            The token is a shared access signature, as the SDKs of Azure Notification Hubs make them: it goes into the \
            header 'Authorization' of a request. It is made from the hub's connection string, without a call of the \
            hub, and has the rights of that string's rule. Whoever has the token has them until it expires, unless the \
            rule's key is rotated.

            EXAMPLES
              newswire token
              newswire token --ttl 10m --connection-file /etc/newswire/listen.connection
              curl -H "Authorization: $(newswire token)" 'http://127.0.0.1:8787/news/registrations?api-version=2015-01'
            """
    )

    /// A minute is enough for one call; a year is long for a key that cannot be taken back alone.
    private static let times: ClosedRange<Duration> = .seconds(60) ... .seconds(365 * 86_400)

    @Argument(
        help: ArgumentHelp(
            "The address that the token is valid for, with all below it (default: the hub's).",
            valueName: "url"
        )
    )
    var url: String?

    @Option(
        name: .customLong("ttl"),
        help: ArgumentHelp("The time for which the token is valid, 1m to 365d (default: 1h).", valueName: "time"),
        transform: TimeArgument.reader("10m, 12h or 30d, from 1m to 365d", in: times)
    )
    var lifetime: Duration?

    @OptionGroup var configuration: ConfigurationOptions<SenderFlags>

    func validate() throws {
        guard let url else { return }
        let parts = URLComponents(string: url)
        guard ["http", "https", "sb"].contains(parts?.scheme?.lowercased()), parts?.host?.isEmpty == false else {
            throw ValidationError("'\(url)' is not an address such as https://hub.example.org/news")
        }
    }

    func run() async throws {
        let hub = try HubConnection(configuration.load(), PublisherSettings.connection)
        let string = try hub.sending()
        let now = Int64(Date().timeIntervalSince1970)
        Console.print(
            SharedAccessToken.sign(
                // Nothing is sent here, and hubs compare the path alone.
                resource: try url ?? "\(string.baseURL(allowingPlainHTTP: true))/\(hub.hub)",
                keyName: string.keyName,
                key: string.key,
                expiresAt: now + (lifetime ?? .seconds(3_600)).components.seconds
            )
        )
    }
}
