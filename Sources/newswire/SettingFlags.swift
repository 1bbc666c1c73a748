import ArgumentParser
import Settings

/// The settings whose flags a command takes.
protocol SettingFlagList {
    static var settings: [SettingEntry] { get }
}

/// The flags of a program's settings, made from the table of settings: a setting needs no declaration of its own here.
///
/// ArgumentParser finds the properties of a group by reflection, and decodes them by their names; this type presents
/// settings as such properties.
struct SettingFlags<List: SettingFlagList>: ParsableArguments, CustomReflectable, Sendable {
    /// The values that were given, by the id of their setting.
    private(set) var values: [String: any Sendable] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let flags = try decoder.container(keyedBy: Name.self)
        for entry in List.settings {
            let name = Name(stringValue: entry.key)
            values[entry.id] =
                entry.isFlag
                ? try flags.decode(Flag<Bool?>.self, forKey: name).wrappedValue
                : try flags.decode(Option<GivenFlag?>.self, forKey: name).wrappedValue?.value
        }
    }

    var customMirror: Mirror {
        Mirror(
            self,
            children: List.settings.map { entry in
                (label: "_\(entry.key)", value: entry.isFlag ? Flag<Bool?>(entry) as Any : Option<GivenFlag?>(entry))
            }
        )
    }

    /// Returns the value of a setting's flag; `nil` if it was not given.
    func value<Value>(_ setting: OpenSetting<Value>) -> Value? { values[setting.entry.id] as? Value }

    func has(_ setting: SettingEntry) -> Bool { values[setting.id] != nil }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

/// The value of a flag, checked and converted by its setting.
struct GivenFlag: Sendable {
    let value: any Sendable
}

extension Option where Value == GivenFlag? {
    fileprivate init(_ entry: SettingEntry) {
        // The parser would print an invalid value, which may be the secret itself.
        let isSecret = entry.isSecretFile
        self.init(
            name: entry.names,
            help: entry.help,
            completion: entry.completion,
            transform: { text in GivenFlag(value: isSecret ? text : try entry.read(text)) }
        )
    }
}

extension Flag where Value == Bool? {
    fileprivate init(_ entry: SettingEntry) {
        self.init(name: .customLong(entry.key), inversion: .prefixedNo, help: entry.help)
    }
}

extension SettingEntry {
    fileprivate var names: NameSpecification { NameSpecification(([key] + aliases).map { .customLong($0) }) }

    fileprivate var help: ArgumentHelp {
        let value = defaultText.map { " (default: \($0))" } ?? ""
        return ArgumentHelp("\(summary)\(isFlag ? "" : value)", valueName: valueName)
    }

    fileprivate var completion: CompletionKind {
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
