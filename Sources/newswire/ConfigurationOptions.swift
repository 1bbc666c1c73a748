import ArgumentParser
import Foundation
import HostSystem
import Settings
import SubscriberAgent

/// Options that select the configuration of a command.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The configuration file.",
            discussion: """
                Without it: $NEWSWIRE_CONFIG, else /etc/newswire/newswire.yaml, else ~/.config/newswire/newswire.yaml. \
                A flag overrides its environment variable, which overrides the file.
                """,
            valueName: "path"
        ),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var config: String?

    /// Variables with newswire's prefix that are not settings: the secret, arguments of a unit, and those of a handler,
    /// which may run newswire.
    static let otherVariables = [ConnectionSource.stringVariable, "NEWSWIRE_SUBSCRIBE"] + InboxHandler.variables

    /// Reads the configuration file and the environment.
    func load() throws(SettingsError) -> Settings {
        try Settings.load(
            file: config,
            environment: ProcessInfo.processInfo.environment,
            otherVariables: Self.otherVariables
        )
    }
}

/// Flags made from the table of settings, which gives their names, help, defaults and checks.
extension Option {
    init<Choice>(_ setting: Setting<Choice>) where Value == Choice? {
        let parse = setting.parse
        self.init(
            name: setting.entry.names,
            help: setting.entry.help,
            completion: setting.entry.completion,
            transform: { text in try parse(text) }
        )
    }

    init<Choice>(_ setting: OpenSetting<Choice>) where Value == Choice? {
        let parse = setting.parse
        self.init(
            name: setting.entry.names,
            help: setting.entry.help,
            completion: setting.entry.completion,
            transform: { text in try parse(text) }
        )
    }

    /// Declares a flag whose value is checked only when the file is read.
    ///
    /// The parser would print an invalid value, which may be the secret itself.
    init(secretFile setting: OpenSetting<String>) where Value == String? {
        self.init(name: setting.entry.names, help: setting.entry.help, completion: .file(), transform: { $0 })
    }
}

extension Flag where Value == Bool? {
    init(_ setting: Setting<Bool>) { self.init(setting.entry) }

    init(_ entry: SettingEntry) {
        self.init(name: .customLong(entry.key), inversion: .prefixedNo, help: entry.help)
    }
}

extension SettingEntry {
    var names: NameSpecification { NameSpecification(([key] + aliases).map { .customLong($0) }) }

    var help: ArgumentHelp {
        let value = defaultText.map { " (default: \($0))" } ?? ""
        return ArgumentHelp("\(summary)\(isFlag ? "" : value)", valueName: valueName)
    }

    var completion: CompletionKind {
        switch type {
        case "path": directories.contains(key) ? .directory : .file()
        case "program": .file()
        case "hub name": .hubs
        default: choices.isEmpty ? .default : .list(choices)
        }
    }

    /// Keys of paths that name a directory.
    private var directories: Set<String> { ["feeds", "state"] }

    private var valueName: String {
        switch type {
        case "whole number": "number"
        case "address and port": "address:port"
        case "https URL": "url"
        case "whole number or none": "N|none"
        case "hub name": "name"
        case "URL or e-mail address": "address"
        case "list of tag prefixes": "prefixes"
        case "list of names and addresses": "names"
        case "list of addresses and blocks": "addresses"
        case "word": key.hasSuffix("level") ? "level" : "word"
        case "web address": "url"
        case "list of names": "names"
        default: type
        }
    }
}
