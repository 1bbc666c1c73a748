import ArgumentParser
import Foundation
import HostSystem
import ReplicatedLog
import Settings
import StartupChecks

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Validate configuration, feed lists, connection strings and databases; change nothing.",
        discussion: """
            Prints one line per problem, and exits with 78 if there is one. If several hubs share a log, it also \
            connects to the log's servers. A problem that can clear on its own, such as a server that does not answer, \
            is a warning; a setting that is recommended is a hint. In a unit, name the program, so that the files of other programs are not checked: \
            ExecStartPre=newswire check hub.

            EXAMPLES
              newswire check
              newswire check publisher --feeds /etc/newswire/feeds
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The programs whose files to check: hub, backend, publisher, agent (default: all).",
            valueName: "program"
        ),
        completion: .list(["hub", "backend", "publisher", "agent"])
    )
    var programs: [String] = []

    @OptionGroup var configuration: ConfigurationOptions<FeedFlags>

    func run() async throws {
        let programs: [SettingSection] = try ProgramNames.programs(self.programs)
        let environment = ProcessInfo.processInfo.environment
        let (configured, mistakes) = Settings.inspect(
            file: configuration.config,
            environment: environment,
            otherVariables: Program.otherVariables
        )
        let settings = configured.overridden(by: configuration.flags.values)
        let check = ConfigurationCheck(
            settings: settings,
            programs: programs.isEmpty ? SettingSection.allCases : programs,
            environment: environment
        )
        let engine = try await check.engine()
        for warning in check.warnings() + (engine?.warnings ?? []) { Console.warning(warning) }
        let problems = mistakes.map(\.description) + check.problems() + (engine?.problems ?? [])
        for problem in problems { Console.error(problem) }
        if let directory = check.missingFeeds { Console.hint(InstalledFeedLists.hint(insteadOf: directory)) }
        // A unit checks before each pass: its journal would have the same line every five minutes.
        if programs.contains(.publisher), environment["JOURNAL_STREAM"] == nil {
            for hint in check.recommendations { Console.hint(hint) }
        }
        guard problems.isEmpty else { throw ExitCode(ExitStatus.badConfiguration.rawValue) }
        if Console.isInteractive { Console.notice("no problems found") }
    }
}
