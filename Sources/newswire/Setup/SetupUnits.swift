import Foundation
import HostSystem

/// The systemd units of a setup, of the system or of a user.
struct SetupUnits {
    private static let hub = "newswire-hub.service"
    static let user = "newswire-hub"
    private static let dropInFile = "/etc/systemd/system/\(hub).d/setup.conf"
    private static let dropIn = """
        # Written by newswire: other machines reach the hub, or the hub reaches push services or its log.
        [Service]
        IPAddressAllow=any

        """
    /// The unit hides them (ProtectHome=, PrivateTmp=).
    private static let hiddenFolders = ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"]
    /// A start waits for migrations of a large database, as long as the unit does.
    private static let timeout: Duration = .seconds(16 * 60)

    let isOfUser: Bool
    /// True if this machine runs the service manager now; false in a chroot or a container.
    let isManaged: Bool

    /// Finds the units of the package or of 'make install'; `nil` if there are none.
    init?(isOfUser: Bool, environment: [String: String]) {
        self.isOfUser = isOfUser
        let home = environment["HOME"] ?? ""
        let folders =
            isOfUser
            ? [
                "\(home)/.config/systemd/user", "\(home)/.local/share/systemd/user", "/etc/systemd/user",
                "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
            ]
            : ["/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system"]
        guard folders.contains(where: { HostFile.exists("\($0)/\(Self.hub)") }) else { return nil }
        isManaged =
            isOfUser
            ? environment["XDG_RUNTIME_DIR"].map { HostFile.exists("\($0)/systemd/private") } ?? false
            : HostFile.exists("/run/systemd/system")
    }

    /// Checks that the hub's unit can read files that root has named.
    ///
    /// - Throws: ``Failure`` 78.
    func checkReading(_ files: [String]) throws {
        guard !isOfUser, let user = UserEntry(named: Self.user) else { return }
        for file in files {
            let names = try FollowedPath(file).names
            let isHidden = names.contains { name in Self.hiddenFolders.contains { "\(name)/".hasPrefix($0) } }
            guard try isHidden || !user.mayRead(file) else { continue }
            let copy = "/etc/newswire/tls/\(URL(filePath: file).lastPathComponent)"
            throw Failure(
                .badConfiguration,
                "the hub's service, with the user '\(Self.user)', cannot read '\(file)'; nothing was changed",
                hint: "install -D -m 640 -g \(Self.user) \(file.shellWord) \(copy.shellWord), and name the copy"
            )
        }
    }

    // MARK: - Drop-in

    /// Writes the drop-in with which the hub's unit lets it reach other machines, or removes it.
    ///
    /// - Returns: True if it changed.
    func putDropIn(isNeeded: Bool, isDryRun: Bool) throws -> Bool {
        guard !isOfUser else { return false }
        let present = HostFile.exists(Self.dropInFile) ? try PrivateFile.read(Self.dropInFile) : nil
        guard present != (isNeeded ? Self.dropIn : nil) else { return false }
        if isNeeded {
            SetupCommand.say("write '\(Self.dropInFile)': IPAddressAllow=any", isDryRun)
            guard !isDryRun else { return true }
            try SetupCommand.makeFolder((Self.dropInFile as NSString).deletingLastPathComponent)
            try HostFile.replace(Self.dropInFile, with: Self.dropIn, permissions: 0o644)
        } else {
            SetupCommand.say("remove '\(Self.dropInFile)': only programs of this machine reach the hub", isDryRun)
            if !isDryRun { try HostFile.remove(Self.dropInFile) }
        }
        return true
    }

    // MARK: - Commands

    /// Returns the commands that start the services, one argument list each.
    func commands(isWatched: Bool, hasChanged: Bool) -> [[String]] {
        let publisher = isWatched ? "newswire-watch.service" : "newswire-publish.timer"
        let needsUser = !isOfUser && UserEntry(named: Self.user) == nil
        return (needsUser ? [["systemd-sysusers"]] : [])
            + [
                manager + ["daemon-reload"],
                manager + ["enable", Self.hub, publisher],
                // The unit is ready when the command returns.
                manager + [hasChanged ? "restart" : "start", Self.hub],
                manager + ["start", publisher],
            ]
    }

    /// Returns the commands that start the hub alone, with a configuration that has changed.
    var hubCommands: [[String]] {
        [manager + ["daemon-reload"], manager + ["enable", Self.hub], manager + ["restart", Self.hub]]
    }

    private var manager: [String] { isOfUser ? ["systemctl", "--user"] : ["systemctl"] }

    /// True if the publisher that keeps running is enabled instead of the timer.
    func isWatched() async -> Bool {
        guard isManaged else { return false }
        let arguments = manager + ["is-enabled", "--quiet", "newswire-watch"]
        return (try? await run(arguments).isSuccess) ?? false
    }

    /// Runs the commands, each after a line that names it.
    ///
    /// - Throws: ``Failure`` 1 with the words of the first one that fails.
    func start(_ commands: [[String]]) async throws {
        for command in commands {
            SetupCommand.say(command.joined(separator: " "), false)
            let outcome = try await run(command)
            guard !outcome.isSuccess else { continue }
            let words = outcome.standardError.split(separator: "\n").first.map { ": \($0)" } ?? ""
            throw Failure(
                .failed,
                TerminalText.safe("'\(command.joined(separator: " "))' \(outcome)\(words)"),
                hint: "the configuration is written; see journalctl \(isOfUser ? "--user " : "")-u newswire-hub -n 20"
            )
        }
    }

    private func run(_ command: [String]) async throws -> ChildProcess.Outcome {
        try await ChildProcess(
            arguments: command,
            environment: ProcessInfo.processInfo.environment,
            timeout: Self.timeout
        ).run()
    }
}
