import ArgumentParser
import Certificates
import Foundation
import Glibc
import HostSystem
import HubProtocol
import NetworkAddresses
import Settings

struct SetupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Ask what a new hub needs to know, write the configuration and start the services.",
        discussion: """
            Asks at most six questions on a terminal: the host name, the certificate, who may read, the categories, \
            notifications of browsers, and a link for the operator. A flag answers its question; without a terminal, \
            what no flag answers stays as it is. Root sets up the services of the system, another user those of its \
            own service manager. Without systemd, and for another file than the services read, the commands are \
            printed instead.

            Every change is named when it is made, and all that the file says besides stays. The command can be \
            repeated: its questions then suggest what is set.

            EXAMPLES
              sudo newswire setup
              sudo newswire setup --host-name news.example.org --certificate proxy --pages public
              newswire setup --host-name none --dry-run
            """
    )

    @OptionGroup var flags: SetupFlags

    @OptionGroup var configuration: ConfigurationOptions<NoFlags>

    @Flag(help: "Name the changes, and make none.")
    var dryRun = false

    /// The feed lists of the package.
    private static let installedFeeds = "/etc/newswire/feeds"

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        var edited = try EditedConfiguration(configuration.config, environment)
        let (path, settings) = (edited.path, edited.settings)
        let folder = (path as NSString).deletingLastPathComponent
        var feeds = try SetupFeeds(directory: "\(folder)/feeds", installed: Self.installedFeeds)
        let former = SetupAnswers(settings)
        let answers = try answers(former, feeds)
        guard flags.certificate == nil || answers.hostName != nil else {
            throw Failure(.usage, "--certificate needs --host-name: without one, other machines do not reach the hub")
        }

        let (naming, units) = (edited.naming, edited.units)
        if case .files(let certificate, let key) = answers.certificate {
            let facts = try CertificateFiles(certificate: certificate, key: key).identity(at: Date()).facts
            if let name = answers.hostName, !facts.covers(name) {
                throw Failure(.usage, "the certificate in '\(certificate)' is not valid for '\(name)'")
            }
            // Only modes are looked at: a certificate that the service uses already is not questioned again.
            if answers.certificate != former.certificate { try units?.checkReading([certificate, key]) }
        }
        let changes = answers.changes(of: settings)
        try edited.apply(changes)
        try feeds.plan(answers.feeds)

        let hasNewFeeds = try feeds.perform(isDryRun: dryRun)
        try edited.write(isDryRun: dryRun)
        let needsNetwork =
            answers.isReachedDirectly || answers.contact != nil || settings.value(HubSettings.logServers) != nil
        let hasDropIn = try units?.putDropIn(isNeeded: needsNetwork, isDryRun: dryRun) ?? false
        let hasChanged = edited.hasChanged || hasDropIn
        if !hasChanged, !hasNewFeeds { Console.notice("nothing is to be changed in '\(path)' and its feed lists") }
        let isRunning = try await start(units, feeds: feeds.directory, naming, hasChanged: hasChanged)
        try await finish(answers, settings, naming, isRunning: isRunning)
    }

    /// Says a step, which is a change of this machine.
    static func say(_ step: String, _ isDryRun: Bool) { Console.notice("\(isDryRun ? "would " : "")\(step)") }

    /// Creates a folder that everybody may read.
    static func makeFolder(_ path: String) throws {
        guard !HostFile.exists(path) else { return }
        // The program's own umask closes new files to others, and services have users of their own.
        let mask = umask(0o022)
        defer { umask(mask) }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    private func answers(_ present: SetupAnswers, _ feeds: SetupFeeds) throws -> SetupAnswers {
        let given = try flags.applied(to: present)
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            guard !flags.isEmpty else {
                throw Failure(
                    .usage,
                    "there is no terminal to ask questions on",
                    hint: "pass the answers as flags: see 'newswire setup --help'"
                )
            }
            return given
        }
        let name = MachineNames.all().compactMap { HostName($0) }.last { !$0.isLoopback && "\($0)".contains(".") }
        return try SetupDialogue(categories: feeds.categories, suggestedName: name, given: flags).ask(given)
    }

    /// Starts the services, or prints the commands that do.
    ///
    /// `naming` has the arguments with which a command finds the file.
    ///
    /// - Returns: True if the hub runs with the present configuration.
    private func start(
        _ units: SetupUnits?,
        feeds: String,
        _ naming: [String],
        hasChanged: Bool
    ) async throws -> Bool {
        let commands: [[String]]
        if let units {
            commands = units.commands(isWatched: await units.isWatched(), hasChanged: hasChanged)
            if units.isManaged, !dryRun {
                try await units.start(commands)
                return true
            }
        } else {
            let file = naming.map(\.shellWord)
            let lists = ["--feeds", feeds.shellWord]
            commands = [["newswire", "hub"] + file, ["newswire", "publish", "--watch"] + lists + file]
        }
        Console.notice(dryRun ? "would then run:" : "these commands start it:")
        for command in commands { Console.print("  \(command.joined(separator: " "))") }
        return false
    }

    private func finish(
        _ answers: SetupAnswers,
        _ settings: Settings,
        _ naming: [String],
        isRunning: Bool
    ) async throws {
        func command(_ words: String...) -> String {
            (["newswire"] + words + naming.map(\.shellWord)).joined(separator: " ")
        }
        let port = settings.value(HubSettings.port)
        let hub = settings.value(HubSettings.name)
        let address = answers.publicAddress(settings).map(PublicAddress.configured)
        let base = (address ?? answers.hostName.map(PublicAddress.own)).map { "https://\($0.authority(port: port))/" }
        if answers.pages != .off {
            Console.print("news in a browser:   \(base ?? "http://127.0.0.1:\(port)/")-/\(hub)/")
        }
        if answers.pages ?? .invited == .invited { Console.print("invite a reader:     \(command("hub", "invite"))") }
        Console.print("connection strings:  \(command("hub", "keys"))")
        if answers.hostName != nil, answers.certificate == .own {
            Console.print("the hub's authority: \(command("hub", "certificate"))")
        }
        if answers.hostName != nil, answers.certificate == .proxy {
            Console.print(
                "for the web server:  respond /metrics 404; reverse_proxy 127.0.0.1:\(port)   (two lines for Caddy)"
            )
        }
        guard answers.wantsOperatorLink, answers.pages != .off, !dryRun else { return }
        // Whoever reads a log of this run could use the link.
        guard isRunning, isatty(STDOUT_FILENO) == 1, let link = try await operatorLink(naming) else {
            return Console.print("manage the hub:      \(command("hub", "invite", "--operator"))")
        }
        Console.print("manage the hub, once, within an hour:  \(TerminalText.safe(link))")
    }

    /// In a process of its own, which continues with the rights of the hub's user.
    private func operatorLink(_ naming: [String]) async throws -> String? {
        let outcome = try await ChildProcess(
            arguments: ["/proc/self/exe", "hub", "invite", "--operator"] + naming,
            environment: ProcessInfo.processInfo.environment
        ).run()
        guard outcome.isSuccess else { return nil }
        return outcome.standardOutput.split(separator: "\n").first.map(String.init)
    }
}
