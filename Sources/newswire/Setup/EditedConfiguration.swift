import Foundation
import Glibc
import HostSystem
import Settings

/// The configuration file of this user's programs, with changes.
struct EditedConfiguration {
    let path: String
    /// The settings of the file before the changes.
    let settings: Settings
    /// The arguments with which a command finds the file; none if it reads this one anyway.
    let naming: [String]
    /// The units that read the file; `nil` if there are none, or if they are not this user's to start.
    let units: SetupUnits?
    private let before: SettingsFileText
    private var file: SettingsFileText
    private var changes: [SettingChange] = []

    /// Finds the file, and reads it if it exists.
    ///
    /// - Parameters:
    ///   - given: The path from the command line.
    ///   - environment: The variables of the process.
    ///   - isForReading: True if the file is not to be changed.
    /// - Throws: ``Failure`` 78 for a file that cannot be used, or that this user may not change.
    init(_ given: String?, _ environment: [String: String], isForReading: Bool = false) throws {
        path = try Self.path(given, environment, isForReading)
        before = SettingsFileText(file: path, text: try Self.text(of: path))
        file = before
        settings = try Self.present(path, environment)
        let isStandard = Self.isStandard(path, environment)
        // Commands of this session may read another file than services.
        let hasOther = ["NEWSWIRE_CONFIG", "XDG_CONFIG_HOME"].contains { environment[$0]?.isEmpty == false }
        let isFound = isStandard && (given == nil || !hasOther)
        naming = isFound ? [] : ["--config", path]
        units = isStandard ? Self.units(environment) : nil
    }

    var hasChanged: Bool { file != before }

    /// The folder of the file.
    var folder: String { (path as NSString).deletingLastPathComponent }

    /// The value of a setting as one text, as the file has it.
    func text(of entry: SettingEntry) -> String? { before.value(of: entry) }

    /// Refuses a file whose style does not allow changes such as these.
    ///
    /// - Throws: ``Failure`` 1.
    func check(_ changes: [SettingChange]) throws {
        var file = file
        do {
            try file.apply(changes)
        } catch {
            let hint = "write each setting on a line of its own, and run this again"
            throw Failure(.failed, "\(error); nothing was changed", hint: hint)
        }
    }

    /// Makes changes, which ``write(isDryRun:)`` stores.
    ///
    /// - Throws: ``Failure`` 1 if the style of the file does not allow them, after they were printed.
    mutating func apply(_ changes: [SettingChange]) throws {
        do {
            try file.apply(changes)
        } catch {
            for line in error.lines { Console.print(TerminalText.safe(line)) }
            throw Failure(.failed, "\(error); nothing was changed", hint: "make the changes above by hand")
        }
        self.changes += changes
    }

    /// Names the changes, and stores them.
    func write(isDryRun: Bool = false) throws {
        guard hasChanged else { return }
        for change in changes {
            let old = before.value(of: change.entry).map { "was \($0)" } ?? "was not set"
            let step = change.text.map { "set \(change.entry.key): \($0)" } ?? "take out \(change.entry.key)"
            SetupCommand.say("\(step) (\(old)) in '\(path)'", isDryRun)
        }
        guard !isDryRun else { return }
        try SetupCommand.makeFolder(folder)
        // A symbolic link is kept; its target is replaced.
        let isThere = HostFile.exists(path)
        let target = isThere ? URL(filePath: path).resolvingSymlinksInPath().path : path
        try HostFile.rewrite(target, with: file.text, permissions: 0o644)
    }
}

// MARK: - What is there

extension EditedConfiguration {
    /// Returns the file that the programs of this user read, whether it exists or not.
    private static func path(
        _ given: String?,
        _ environment: [String: String],
        _ isForReading: Bool
    ) throws -> String {
        if let path = given ?? environment["NEWSWIRE_CONFIG"], !path.isEmpty {
            return path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
        }
        if geteuid() == 0 { return Settings.systemFile }
        if HostFile.exists(Settings.systemFile) {
            guard isForReading || access(Settings.systemFile, W_OK) == 0 else {
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

    private static func ownFile(_ environment: [String: String]) throws -> String {
        let own = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        guard let folder = own ?? environment["HOME"].map({ "\($0)/.config" }) else {
            throw Failure(.badConfiguration, "this user has no home directory", hint: "pass --config PATH")
        }
        return "\(folder)/newswire/newswire.yaml"
    }

    private static func text(of path: String) throws -> String {
        do throws(HostError) {
            return try PrivateFile.read(path)
        } catch {
            guard error.isMissing else { throw error }
            return ""
        }
    }

    /// Reads the file alone: what variables of this session set does not count for services.
    private static func present(_ path: String, _ environment: [String: String]) throws -> Settings {
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
    private static func isStandard(_ path: String, _ environment: [String: String]) -> Bool {
        let standard = Settings.standardFile(isRoot: geteuid() == 0, environment: environment)
        guard let standard, path != standard else { return standard != nil }
        guard let file = try? FollowedPath(path).file else { return false }
        return file == (try? FollowedPath(standard).file)
    }

    /// Returns the units that read the standard file; `nil` if there are none, or if they are not this user's to start.
    private static func units(_ environment: [String: String]) -> SetupUnits? {
        let isOfUser = geteuid() != 0
        // The services of the system read that file: a user's own beside them would use the same ports.
        if isOfUser, HostFile.exists(Settings.systemFile) { return nil }
        return SetupUnits(isOfUser: isOfUser, environment: environment)
    }
}
