import ArgumentParser
import Foundation
import HostSystem
import Logging

@main
struct Newswire: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "newswire",
        abstract: "Self-hosted breaking-news broadcasting: from feeds, through a notification hub, to its subscribers.",
        discussion: """
            Start with 'newswire demo'. Every command explains itself with --help.
            """,
        version: Program.version,
        subcommands: [
            DemoCommand.self, HubCommand.self, PublishCommand.self, SendCommand.self, SubscribeCommand.self,
            UnsubscribeCommand.self, CategoriesCommand.self, InboxCommand.self,
        ]
    )

    static func main() async {
        TerminationSignals.ignoreBrokenPipes()
        // What the program writes is its user's business alone: keys, choices, news.
        umask(0o077)
        // Else libdispatch tells the system log, at every start by anybody but root, that it may not raise a thread's priority.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        await main(nil)
    }
}

/// The program's name towards others.
enum Program {
    static let version = "0.1.0"
    static let userAgent = "newswire/\(version) (+https://github.com/newswire/newswire)"

    /// Logs on standard error, from `warning` on; $NEWSWIRE_LOG_LEVEL says otherwise.
    static func logger(_ label: String) -> Logger {
        var logger = Logger(label: label) { StreamLogHandler.standardError(label: $0) }
        let level = ProcessInfo.processInfo.environment["NEWSWIRE_LOG_LEVEL"].flatMap(Logger.Level.init(rawValue:))
        logger.logLevel = level ?? .warning
        return logger
    }
}
