internal import HostSystem

/// The settings of file, environment and flags, validated as a whole.
///
/// A flag overrides the environment, the environment the file, and the file the default.
package struct Settings: Sendable {
    package static let systemFile = "/etc/newswire/newswire.yaml"
    private static let fileVariable = "NEWSWIRE_CONFIG"
    private static let variablePrefix = "NEWSWIRE_"

    /// The file that was read, if there is one.
    package let file: String?
    /// The hubs and rules that the file declares.
    package let hubs: ConfiguredHubs
    private let values: [String: any Sendable]
    private let origins: [String: SettingOrigin]

    /// The settings without file, environment and flags.
    package static let defaults = Settings(file: nil, hubs: ConfiguredHubs(), values: [:], origins: [:])

    /// Finds, reads and validates the whole configuration, for every section.
    ///
    /// The file is the named one; else `$NEWSWIRE_CONFIG`; else ``systemFile``, if it exists; else
    /// `newswire/newswire.yaml` in `$XDG_CONFIG_HOME` or `~/.config`, if it exists. An empty variable counts as not
    /// set; a variable of ours that is neither a setting's nor among `otherVariables` is an error.
    ///
    /// - Throws: ``SettingsError`` with *all* problems, so that one run shows everything that must be corrected.
    package static func load(
        file named: String? = nil,
        environment: [String: String],
        otherVariables: [String] = [],
        systemFile: String = Self.systemFile
    ) throws(SettingsError) -> Settings {
        let (settings, problems) = inspect(
            file: named,
            environment: environment,
            otherVariables: otherVariables,
            systemFile: systemFile
        )
        guard problems.isEmpty else { throw SettingsError(problems) }
        return settings
    }

    /// Returns the file of services, and of commands in any session, that no flag names.
    ///
    /// The variables of this session do not count, since services and other sessions do not have them: neither
    /// `$NEWSWIRE_CONFIG` nor `$XDG_CONFIG_HOME`.
    ///
    /// - Parameters:
    ///   - isRoot: True for the services of the system, false for those of a user.
    ///   - environment: The user's `HOME`.
    ///   - systemFile: The file of the machine, which users' programs also prefer to their own.
    /// - Returns: The path, whether there is a file or not; `nil` for a user without a home directory.
    package static func standardFile(
        isRoot: Bool,
        environment: [String: String],
        systemFile: String = Self.systemFile
    ) -> String? {
        if isRoot || HostFile.exists(systemFile) { return systemFile }
        return environment["HOME"].flatMap { $0.isEmpty ? nil : "\($0)/.config/newswire/newswire.yaml" }
    }

    /// Reads like ``load(file:environment:otherVariables:systemFile:)``, but leaves invalid settings at their defaults.
    ///
    /// - Returns: The settings, and all problems in the order of their places.
    package static func inspect(
        file named: String? = nil,
        environment: [String: String],
        otherVariables: [String] = [],
        systemFile: String = Self.systemFile
    ) -> (Settings, [SettingsProblem]) {
        let variables = environment.filter { !$0.value.isEmpty }
        var problems: [SettingsProblem] = []
        var given: [String: GivenValue] = [:]
        var hubs = ConfiguredHubs()
        let path = named ?? variables[fileVariable] ?? existing(systemFile, variables)
        if let path {
            var reader = SettingsFileReader(file: path, home: variables["HOME"])
            given = reader.read()
            hubs = reader.hubs
            problems += reader.problems
        }
        for (id, value) in environmentValues(variables, otherVariables, &problems) { given[id] = value }
        var values: [String: any Sendable] = [:]
        for entry in SettingsTable.entries {
            guard let value = given[entry.id] else { continue }
            do throws(SettingValueError) {
                values[entry.id] = try entry.read(value.text)
            } catch {
                // An address may have a password in it.
                let isSecret = entry.isSecretFile || (value.text.contains("://") && value.text.contains("@"))
                let shown = isSecret ? "" : " '\(TerminalText.safe(value.text))'"
                let subject = value.origin.isVariable ? "its value\(shown)" : "'\(entry.key)'\(shown)"
                problems.append(value.origin.problem("\(subject): \(error)"))
            }
        }
        let settings = Settings(file: path, hubs: hubs, values: values, origins: given.mapValues(\.origin))
        return (
            settings,
            problems.sorted { ($0.place == path ? 0 : 1, $0.line ?? 0) < ($1.place == path ? 0 : 1, $1.line ?? 0) }
        )
    }

    /// Returns these settings with the values of flags.
    ///
    /// - Parameter flags: Values by the ids of their settings.
    /// - Returns: The settings, with the flags as origins of these values.
    package func overridden(by flags: [String: any Sendable]) -> Settings {
        Settings(
            file: file,
            hubs: hubs,
            values: values.merging(flags) { $1 },
            origins: origins.merging(flags.mapValues { _ in .flag }) { $1 }
        )
    }

    package func value<Value>(_ setting: Setting<Value>) -> Value { given(setting) ?? setting.fallback }

    package func value<Value>(_ setting: OpenSetting<Value>) -> Value? { values[setting.entry.id] as? Value }

    /// Returns the value that file, environment or flag give; `nil` for the default.
    package func given<Value>(_ setting: Setting<Value>) -> Value? { values[setting.entry.id] as? Value }

    /// Returns the place of a value; `nil` for a default.
    package func origin(of entry: SettingEntry) -> SettingOrigin? { origins[entry.id] }

    private static func existing(_ systemFile: String, _ variables: [String: String]) -> String? {
        let configuration = variables["XDG_CONFIG_HOME"] ?? variables["HOME"].map { "\($0)/.config" }
        let own = configuration.map { "\($0)/newswire/newswire.yaml" }
        return [systemFile, own].compactMap(\.self).first(where: HostFile.exists)
    }

    private static func environmentValues(
        _ variables: [String: String],
        _ otherVariables: [String],
        _ problems: inout [SettingsProblem]
    ) -> [String: GivenValue] {
        var given: [String: GivenValue] = [:]
        for entry in SettingsTable.entries {
            for name in [entry.variable, entry.sharedVariable].compactMap(\.self) where given[entry.id] == nil {
                guard let text = variables[name] else { continue }
                given[entry.id] = GivenValue(text: text, origin: .variable(name))
            }
        }
        let settings = SettingsTable.entries.flatMap { [$0.variable, $0.sharedVariable].compactMap(\.self) }
        let known = settings + [fileVariable] + otherVariables
        for name in variables.keys.sorted() where name.hasPrefix(variablePrefix) && !known.contains(name) {
            // Compare without the common prefix, which would make all names look similar.
            let ending = { (name: String) in String(name.dropFirst(variablePrefix.count)) }
            let nearest = NearestName.of(ending(name), among: known.map(ending))
            let hint = nearest.map { ": did you mean \(variablePrefix)\($0)?" } ?? ""
            problems.append(SettingOrigin.variable(name).problem("unknown variable\(hint)"))
        }
        return given
    }
}

/// The place of a value.
package enum SettingOrigin: Sendable, Equatable {
    case file(String, line: Int?)
    case variable(String)
    case flag

    var isVariable: Bool {
        switch self {
        case .file, .flag: false
        case .variable: true
        }
    }

    package func problem(_ text: String) -> SettingsProblem {
        switch self {
        case .file(let path, let line): SettingsProblem(place: path, line: line, text: text)
        case .variable(let name): SettingsProblem(place: "$\(name)", line: nil, text: text)
        case .flag: SettingsProblem(place: "the command line", line: nil, text: text)
        }
    }
}

/// A value as it was written.
struct GivenValue: Sendable, Equatable {
    /// The text; paths are absolute, or relative to the working directory.
    let text: String
    let origin: SettingOrigin
}
