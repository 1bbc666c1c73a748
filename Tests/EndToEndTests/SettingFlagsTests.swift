import ArgumentParser
import FeedPublisher
import HubProtocol
import NetworkAddresses
import Testing

@testable import Settings
@testable import newswire

@Suite struct SettingFlagsTests {
    /// A command with the flags of all settings of one program.
    private struct All<List: SettingFlagList>: AsyncParsableCommand {
        @OptionGroup var flags: SettingFlags<List>
    }

    private func values<List: SettingFlagList>(_ list: List.Type, _ arguments: [String]) async throws -> Settings {
        let (settings, problems) = Settings.inspect(environment: [:], systemFile: "/nonexistent")
        try #require(problems.isEmpty)
        return settings.overridden(by: try await All<List>.asyncParse(arguments).flags.values)
    }

    @Test func `a flag overrides a setting, and says so`() async throws {
        let settings = try await values(
            HubFlags.self,
            ["--port", "9000", "--no-app-backend", "--trusted-proxies", "10.0.0.0/8,::1", "--hub", "town"]
        )
        #expect(settings.value(HubSettings.port) == 9_000)
        #expect(settings.value(HubSettings.appBackend) == false)
        #expect(settings.value(HubSettings.trustedProxies)?.count == 2)
        #expect(settings.value(HubSettings.name) == "town")
        #expect(settings.origin(of: HubSettings.name.entry) == .flag)
        #expect(settings.value(HubSettings.listen) == "127.0.0.1")
        #expect(settings.origin(of: HubSettings.listen.entry) == nil)
        #expect(settings.value(HubSettings.tlsKey) == nil)
    }

    @Test func `every setting of a program is a flag of its command`() {
        let commands: [(any ParsableCommand.Type, SettingSection)] = [
            (HubServe.self, .hub), (BackendCommand.self, .backend), (PublishCommand.self, .publisher),
        ]
        for (command, section) in commands {
            let words = Set(command.helpMessage(columns: 1_000).split { !$0.isLetter && !$0.isNumber && $0 != "-" })
            for entry in SettingsTable.entries(section) {
                for name in [entry.key] + entry.aliases { #expect(words.contains("--\(name)"), "\(command): \(name)") }
            }
        }
    }

    @Test func `a pass has the options of its flags`() async throws {
        let arguments = ["--cap", "7", "--announce-within", "1h", "--publisher", "desk"]
        let command = try await PublishCommand.asyncParse(arguments)
        let (settings, _) = Settings.inspect(environment: [:], systemFile: "/nonexistent")
        let options = command.options(settings.overridden(by: command.configuration.flags.values))
        #expect(options.cap == 7 && options.announceWithin == .seconds(3_600) && options.publisher == "desk")
    }

    @Test(arguments: [
        (["--port", "65536"], "must be"), (["--prot", "1"], "Unknown option '--prot'"), (["--port"], "Missing value"),
    ])
    func `a flag that cannot be used is named`(arguments: [String], text: String) async throws {
        let error = await #expect(throws: (any Error).self) { try await All<HubFlags>.asyncParse(arguments) }
        let message = error.map(All<HubFlags>.message) ?? ""
        #expect(message.contains(text) && message.contains(arguments[0]), "\(message)")
    }

    /// The parser prints a value that it refuses.
    @Test func `a secret given instead of its file's name is not printed`() async throws {
        let secret = "PRIVATE KEY MIGHAgEAMBMGByqGSM49"
        #expect(throws: SettingValueError.self) { try HubSettings.tlsKey.parse(secret) }
        #expect(try await values(HubFlags.self, ["--tls-key", secret]).value(HubSettings.tlsKey) == secret)
    }
}
