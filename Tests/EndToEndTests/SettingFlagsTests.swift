import ArgumentParser
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

    @Test func `every setting of a program has a flag that its commands take`() throws {
        func check<List: SettingFlagList>(_ list: List.Type, but others: [SettingEntry], of section: SettingSection) {
            let missing = SettingsTable.entries(section).map(\.id).filter { id in
                !List.settings.contains { $0.id == id } && !others.contains { $0.id == id }
            }
            #expect(missing.isEmpty)
        }
        check(HubFlags.self, but: [HubSettings.state.entry], of: .hub)
        check(BackendFlags.self, but: BackendSettings.connection.entries, of: .backend)
        let lists = [PublisherSettings.feeds.entry, PublisherSettings.state.entry]
        check(PublishFlags.self, but: PublisherSettings.connection.entries + lists, of: .publisher)
    }

    @Test(arguments: [
        (["--port", "65536"], "must be"), (["--prot", "1"], "Unknown option '--prot'"), (["--port"], "Missing value"),
    ])
    func `a flag that cannot be used is named`(arguments: [String], text: String) async throws {
        let error = await #expect(throws: (any Error).self) { try await All<HubFlags>.asyncParse(arguments) }
        let message = error.map(All<HubFlags>.message) ?? ""
        #expect(message.contains(text) && message.contains(arguments[0]), "\(message)")
    }

    @Test func `a secret given instead of its file's name is not printed`() async throws {
        let secret = "MIGHAgEAMBMGByqGSM49"
        let settings = try await values(HubFlags.self, ["--tls-key", secret])
        #expect(settings.value(HubSettings.tlsKey) == secret)
    }
}
