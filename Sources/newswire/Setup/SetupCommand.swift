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
        let path = try configurationFile(environment)
        var file = SettingsFileText(file: path, text: try text(of: path))
        let settings = try present(path, environment)
        let folder = (path as NSString).deletingLastPathComponent
        var feeds = try SetupFeeds(directory: "\(folder)/feeds", installed: Self.installedFeeds)
        let former = SetupAnswers(settings)
        let answers = try answers(former, feeds)
        guard flags.certificate == nil || answers.hostName != nil else {
            throw Failure(.usage, "--certificate needs --host-name: without one, other machines do not reach the hub")
        }

        let isStandard = isStandard(path, environment)
        // Commands of this session may read another file than services.
        let hasOther = ["NEWSWIRE_CONFIG", "XDG_CONFIG_HOME"].contains { environment[$0]?.isEmpty == false }
        let isFound = isStandard && (configuration.config == nil || !hasOther)
        let naming = isFound ? [] : ["--config", path]
        let units = isStandard ? units(environment) : nil
        if case .files(let certificate, let key) = answers.certificate {
            let facts = try CertificateFiles(certificate: certificate, key: key).identity(at: Date()).facts
            if let name = answers.hostName, !facts.covers(name) {
                throw Failure(.usage, "the certificate in '\(certificate)' is not valid for '\(name)'")
            }
            // Only modes are looked at: a certificate that the service uses already is not questioned again.
            if answers.certificate != former.certificate { try units?.checkReading([certificate, key]) }
        }
        let changes = answers.changes(of: settings)
        let before = file
        do {
            try file.apply(changes)
        } catch {
            for line in error.lines { Console.print(TerminalText.safe(line)) }
            throw Failure(.failed, "\(error); nothing was changed", hint: "make the changes above by hand")
        }
        try feeds.plan(answers.feeds)

        let hasNewFeeds = try feeds.perform(isDryRun: dryRun)
        try write(file, before, changes)
        let needsNetwork = answers.isReachedDirectly || answers.contact != nil
        let hasDropIn = try units?.putDropIn(isNeeded: needsNetwork, isDryRun: dryRun) ?? false
        let hasChanged = file != before || hasDropIn
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

    // MARK: - What is there

    /// Returns the file that the programs of this user read, whether it exists or not.
    private func configurationFile(_ environment: [String: String]) throws -> String {
        if let path = configuration.config ?? environment["NEWSWIRE_CONFIG"], !path.isEmpty {
            return path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
        }
        if geteuid() == 0 { return Settings.systemFile }
        if HostFile.exists(Settings.systemFile) {
            guard access(Settings.systemFile, W_OK) == 0 else {
                throw Failure(
                    .badConfiguration,
                    "'\(Settings.systemFile)' is this machine's configuration, and you may not change it",
                    hint: "\(Administrator.sudoCommand()), or pass --config PATH"
                )
            }
            return Settings.systemFile
        }
        return try ownFile(environment)
    }

    private func ownFile(_ environment: [String: String]) throws -> String {
        let own = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        guard let folder = own ?? environment["HOME"].map({ "\($0)/.config" }) else {
            throw Failure(.badConfiguration, "this user has no home directory", hint: "pass --config PATH")
        }
        return "\(folder)/newswire/newswire.yaml"
    }

    private func text(of path: String) throws -> String {
        do throws(HostError) {
            return try PrivateFile.read(path)
        } catch {
            guard error.isMissing else { throw error }
            return ""
        }
    }

    /// Reads the file alone: what variables of this session set does not count for services.
    private func present(_ path: String, _ environment: [String: String]) throws -> Settings {
        let home = environment.filter { $0.key == "HOME" }
        guard HostFile.exists(path) else {
            return try Settings.load(environment: [:], systemFile: path)
        }
        let (settings, problems) = Settings.inspect(file: path, environment: home)
        guard problems.isEmpty else {
            for problem in problems { Console.error("\(problem)") }
            throw Failure(.badConfiguration, "correct '\(path)' first; nothing was changed")
        }
        return settings
    }

    /// True if services, and commands without `--config`, read this file.
    private func isStandard(_ path: String, _ environment: [String: String]) -> Bool {
        let standard = Settings.standardFile(isRoot: geteuid() == 0, environment: environment)
        guard let standard, path != standard else { return standard != nil }
        guard let file = try? FollowedPath(path).file else { return false }
        return file == (try? FollowedPath(standard).file)
    }

    /// Returns the units that read the standard file; `nil` if there are none, or if they are not this user's to start.
    private func units(_ environment: [String: String]) -> SetupUnits? {
        let isOfUser = geteuid() != 0
        // The services of the system read that file: a user's own beside them would use the same ports.
        if isOfUser, HostFile.exists(Settings.systemFile) { return nil }
        return SetupUnits(isOfUser: isOfUser, environment: environment)
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

    // MARK: - What changes

    private func write(_ file: SettingsFileText, _ before: SettingsFileText, _ changes: [SettingChange]) throws {
        guard file != before else { return }
        for change in changes {
            let old = before.value(of: change.entry).map { "was \($0)" } ?? "was not set"
            let step = change.text.map { "set \(change.entry.key): \($0)" } ?? "take out \(change.entry.key)"
            Self.say("\(step) (\(old)) in '\(file.file)'", dryRun)
        }
        guard !dryRun else { return }
        try Self.makeFolder((file.file as NSString).deletingLastPathComponent)
        // A symbolic link is kept; its target is replaced.
        let isThere = HostFile.exists(file.file)
        let target = isThere ? URL(filePath: file.file).resolvingSymlinksInPath().path : file.file
        let permissions = isThere ? try HostFile.permissions(target) : 0o644
        try HostFile.replace(target, with: file.text, permissions: permissions)
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
