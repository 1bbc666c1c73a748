import ArgumentParser
import Foundation
import Glibc
import HostSystem
import Logging
import Settings

@main
struct Newswire: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "newswire",
        abstract: "Self-hosted breaking-news broadcasting: from feeds, through a notification hub, to subscribers.",
        discussion: """
            Start with 'newswire demo'. Every command has --help.
            """,
        version: Version.text,
        subcommands: [
            DemoCommand.self, SetupCommand.self, HubCommand.self, BackendCommand.self, PublishCommand.self,
            PublishersCommand.self,
            FeedsCommand.self,
            SendCommand.self, MessagesCommand.self, RegistrationsCommand.self, SubscribeCommand.self,
            UnsubscribeCommand.self,
            CategoriesCommand.self, InboxCommand.self, LoginCommand.self, LogoutCommand.self, NotifyCommand.self,
            UserCommand.self, TokenCommand.self, CheckCommand.self, HealthCommand.self,
        ]
    )

    static func main() async {
        StandardStream.reserve()
        TerminationSignals.ignoreWriteSignals()
        TerminationSignals.endFirstProcess()
        // Only this user may read the files that the program writes, such as keys.
        umask(0o077)
        // Otherwise libdispatch logs, at every start without root, that it may not raise a thread's priority.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        do {
            var parsed = try await asyncParseAsRoot()
            guard var command = parsed as? any AsyncParsableCommand else {
                // A command of the parser itself, such as help, whose output is an error that only the parser can
                // print.
                if let topic = CommandName.unknownTopic(CommandLine.arguments) {
                    throw ValidationError("there is no command '\(TerminalText.safe(topic))'")
                }
                return try parsed.run()
            }
            do {
                try await command.run()
            } catch {
                try report(error)
            }
        } catch {
            guard !(error is ExitCode), exitCode(for: error) == .validationFailure,
                let name = CommandName.suggestion(CommandLine.arguments)
            else { exit(withError: error) }
            try? FileHandle.standardError.write(contentsOf: Data("\(fullMessage(for: error))\n".utf8))
            Console.hint("did you mean '\(name)'?")
            Glibc.exit(exitCode(for: error).rawValue)
        }
    }
}

/// The version, the user agents and the loggers of the program.
enum Program {
    static let version = Version.number
    /// The user agent for hubs.
    static let userAgent = "newswire/\(version)"

    /// Returns the user agent for servers of feeds.
    static func userAgent(contact: String?) -> String { contact.map { "\(userAgent) (+\($0))" } ?? userAgent }

    /// Returns a logger for standard error.
    static func logger(_ label: String, _ level: LogLevel = .warning) -> Logger {
        var logger = Logger(label: label) { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = level.level
        return logger
    }
}
