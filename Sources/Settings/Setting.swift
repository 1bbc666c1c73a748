/// The program of a setting; a section of the file.
package enum SettingSection: String, Sendable, CaseIterable {
    case hub, backend, publisher, agent
}

/// A setting without its type: a row of the table for parsing, `--help` and the reference.
package struct SettingEntry: Sendable {
    package let section: SettingSection
    /// The key in the file, and the long flag.
    package let key: String
    /// Other long flags.
    package fileprivate(set) var aliases: [String] = []
    /// One sentence, as `--help` and the reference show it.
    package fileprivate(set) var summary = ""
    /// The type of the value, for people.
    package let type: String
    /// Bounds of the value, for people; `nil` if the type is enough.
    package let range: String?
    /// The possible values, if there are few.
    package let choices: [String]
    /// The default as a user would write it; `nil` if there is none, or if it depends on the machine, as the summary
    /// says.
    package let defaultText: String?
    /// Another variable for this setting, shared by all sections and read after the section's own.
    package let sharedVariable: String?
    let nature: SettingNature
    /// Turns a text into the value; throws the reason why it is not valid.
    package let read: @Sendable (String) throws(SettingValueError) -> any Sendable

    /// `NEWSWIRE_HUB_TIME_TO_LIVE` for `time-to-live` of the hub.
    package var variable: String {
        "NEWSWIRE_\(section.rawValue)_\(key)".uppercased().replacing("-", with: "_")
    }

    /// True if the value names a file that holds a secret.
    ///
    /// The value is never shown, since it could be the secret itself.
    package var isSecretFile: Bool { nature == .secretFile }

    /// True if the value names a file or a program of this machine.
    package var isOfMachine: Bool {
        switch nature {
        case .plain, .list: false
        case .path, .secretFile, .program: true
        }
    }

    /// True if the setting is on or off: its flag has no value.
    package var isFlag: Bool { type == SettingFormat.flag.type }

    /// Unique among all settings, such as `hub.port`.
    package var id: String { "\(section.rawValue).\(key)" }
}

/// The way in which a value is read from its source.
package enum SettingNature: Sendable {
    case plain
    /// Words, written as a YAML list or with commas between them.
    case list
    /// A path relative to the folder of the file that contains the setting.
    case path
    /// A path; the file holds a secret.
    case secretFile
    /// A path if it contains a slash, else a name that is looked up in `$PATH`.
    case program
}

/// A setting that always has a value.
package struct Setting<Value: Sendable>: Sendable {
    package private(set) var entry: SettingEntry
    package let fallback: Value

    init(
        _ section: SettingSection,
        _ key: String,
        _ format: SettingFormat<Value>,
        _ fallback: Value,
        sharedVariable: String? = nil
    ) {
        self.fallback = fallback
        entry = format.entry(section, key, defaultText: format.show(fallback), sharedVariable)
    }

    func summary(_ text: String) -> Setting {
        var setting = self
        setting.entry.summary = text
        return setting
    }

    /// Adds another name of the flag.
    func alias(_ name: String) -> Setting {
        var setting = self
        setting.entry.aliases.append(name)
        return setting
    }
}

/// A setting that may have no value.
package struct OpenSetting<Value: Sendable>: Sendable {
    package private(set) var entry: SettingEntry
    package let parse: @Sendable (String) throws(SettingValueError) -> Value

    init(
        _ section: SettingSection,
        _ key: String,
        _ format: SettingFormat<Value>,
        sharedVariable: String? = nil
    ) {
        self.parse = format.parse
        entry = format.entry(section, key, defaultText: nil, sharedVariable)
    }

    func summary(_ text: String) -> OpenSetting {
        var setting = self
        setting.entry.summary = text
        return setting
    }
}

extension SettingFormat {
    fileprivate func entry(
        _ section: SettingSection,
        _ key: String,
        defaultText: String?,
        _ sharedVariable: String?
    ) -> SettingEntry {
        let parse = parse
        return SettingEntry(
            section: section,
            key: key,
            type: type,
            range: range,
            choices: choices,
            defaultText: defaultText,
            sharedVariable: sharedVariable,
            nature: nature,
            read: { text throws(SettingValueError) in try parse(text) }
        )
    }
}
