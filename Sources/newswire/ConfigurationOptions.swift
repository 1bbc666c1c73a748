import ArgumentParser
import Foundation
import HostSystem
import Settings
import SubscriberAgent

/// The configuration of a command: its file, and the settings for which it has flags.
struct ConfigurationOptions<Flags: SettingFlagList>: ParsableArguments {
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

    @OptionGroup var flags: SettingFlags<Flags>

    /// Reads file, environment and flags.
    func load() throws(SettingsError) -> Settings {
        try Settings.load(
            file: config,
            environment: ProcessInfo.processInfo.environment,
            otherVariables: Program.otherVariables
        )
        .overridden(by: flags.values)
    }
}

extension Program {
    /// Variables with newswire's prefix that are not settings: the secret, arguments of a unit, and those of a handler,
    /// which may run newswire.
    static let otherVariables = [ConnectionSource.stringVariable, "NEWSWIRE_SUBSCRIBE"] + InboxHandler.variables
}
