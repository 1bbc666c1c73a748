import ArgumentParser
import Foundation
import HostSystem
import Logging
import Settings

@main
struct Newswire: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "newswire",
        abstract: "Self-hosted breaking-news broadcasting: from feeds, through a notification hub, to its subscribers.",
        discussion: """
            Start with 'newswire demo'. Every command explains itself with --help.
            """,
        version: Version.text,
        subcommands: [
            DemoCommand.self, HubCommand.self, BackendCommand.self, PublishCommand.self, PublishersCommand.self,
            FeedsCommand.self,
            SendCommand.self, MessagesCommand.self, RegistrationsCommand.self, SubscribeCommand.self,
            UnsubscribeCommand.self,
            CategoriesCommand.self, InboxCommand.self, LoginCommand.self, LogoutCommand.self, NotifyCommand.self,
            UserCommand.self, CheckCommand.self,
        ]
    )

    static func main() async {
        TerminationSignals.ignoreBrokenPipes()
        // What the program writes is its user's business alone: keys, choices, news.
        umask(0o077)
        // Else libdispatch tells the system log, at every start by anybody but root, that it may not raise a thread's priority.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        do {
            var parsed = try await asyncParseAsRoot()
            guard var command = parsed as? any AsyncParsableCommand else {
                // The parser's own: what --help asks for is an error that only it can print.
                return try parsed.run()
            }
            do {
                try await command.run()
            } catch {
                try report(error)
            }
        } catch {
            exit(withError: error)
        }
    }
}

/// The program's names for other programs.
enum Program {
    static let version = Version.number
    /// The name for hubs.
    static let userAgent = "newswire/\(version)"

    /// The name for owners of feeds.
    static func userAgent(contact: String) -> String { "\(userAgent) (+\(contact))" }

    /// Returns a logger for standard error.
    static func logger(_ label: String, _ level: LogLevel = .warning) -> Logger {
        var logger = Logger(label: label) { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = level.level
        return logger
    }
}
