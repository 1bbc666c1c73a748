import AppBackend
import ArgumentParser
import Foundation
import HostSystem
import Logging
import Settings
import StartupChecks
import Testing

@testable import newswire

/// A setting that is declared must also be used: nothing else compares the table with the assignments of a start.
///
/// Each setting gets another valid value, first by its variable and then by its flag. Both must change what the program decides before it
/// serves anything.
///
/// One after the other: a hundred starts at once would leave the tests of connections no time.
@Suite(.serialized) struct SettingEffectTests {
    struct Sample: Sendable {
        let value: String
        /// Settings without which the value cannot be used, and former values of this one.
        let beside: [String: String]

        init(_ value: String, beside: [String: String] = [:]) {
            self.value = value
            self.beside = beside
        }
    }

    private static let log = ["app-backend": "false", "pages": "off", "log-servers": "tls://127.0.0.1:4222"]
    private static let provider = [
        "oidc-issuer": "https://a.example/", "oidc-audience": "a", "oidc-jwks-url": "https://a.example/keys",
    ]
    private static let proxy = ["user-header-proxies": "10.0.0.1"]

    /// `SCRATCH` is the folder of the test, with two copies of a certificate and its key.
    private static let hub: [String: Sample] = [
        "listen": Sample("::1"), "port": Sample("9"), "insecure-listen": Sample("true"),
        "host-names": Sample("hub.example"), "public-address": Sample("https://news.example"),
        "tls-certificate": Sample("SCRATCH/b.pem", beside: certificate),
        "tls-key": Sample("SCRATCH/b.pem", beside: certificate),
        "trusted-proxies": Sample("10.0.0.1"), "name": Sample("desk"), "state": Sample("SCRATCH/other"),
        "time-to-live": Sample("1h"), "log-size": Sample("2MiB"), "maximum-tags": Sample("7"),
        "maximum-expression-tags": Sample("7"), "maximum-alternatives": Sample("7"),
        "reserved-tag-prefixes": Sample("vip:"), "streams-per-address": Sample("7"), "stream-openings": Sample("7"),
        "listen-registrations": Sample("7"), "listen-size": Sample("2MiB"), "listen-writes": Sample("7"),
        "change-size": Sample("2MiB"), "cors-origins": Sample("https://app.example"),
        "push-contact": Sample("mailto:ops@example.org"), "push-hosts": Sample("push.example"),
        "push-addresses": Sample("10.0.0.0/8"), "gcm-through-fcm": Sample("true"), "app-backend": Sample("false"),
        "pages": Sample("public"), "websub-hub": Sample("https://websub.example/"), "alarm-tag": Sample("alarms"),
        "alarm-silences": Sample("World=6h"), "alarm-agents": Sample("lobby"),
        "log-servers": Sample("tls://127.0.0.1:4223", beside: log), "log-name": Sample("other", beside: log),
        "log-node": Sample("n7", beside: log), "log-replicas": Sample("1", beside: log),
        "log-credentials": Sample("SCRATCH/a.creds", beside: log), "log-ca": Sample("SCRATCH/a.pem", beside: log),
        "log-certificate": Sample("SCRATCH/b.pem", beside: log.merging(logCertificate) { $1 }),
        "log-key": Sample("SCRATCH/b.pem", beside: log.merging(logCertificate) { $1 }), "drain": Sample("1s"),
        "log-level": Sample("debug"),
    ]

    private static let backend: [String: Sample] = [
        "listen": Sample("::1"), "port": Sample("9"), "insecure-listen": Sample("true"),
        "host-names": Sample("hub.example"), "public-address": Sample("https://news.example"),
        "tls-certificate": Sample("SCRATCH/b.pem", beside: certificate),
        "tls-key": Sample("SCRATCH/b.pem", beside: certificate),
        "trusted-proxies": Sample("10.0.0.1"), "hub": Sample("desk"),
        "connection-file": Sample("SCRATCH/a.connection"), "ca-file": Sample("SCRATCH/a.pem"),
        "allow-plain-http": Sample("true"), "reserved-tag-prefixes": Sample("vip:"), "maximum-tags": Sample("7"),
        "notifications": Sample("secure"), "secure-text": Sample("a"), "secure-alert": Sample("a"),
        "secure-notice": Sample("a"), "may-notify-roles": Sample("editor"),
        "oidc-issuer": Sample("https://b.example/", beside: provider), "oidc-audience": Sample("b", beside: provider),
        "oidc-jwks-url": Sample("https://b.example/keys", beside: provider),
        "oidc-jwks-file": Sample(
            "SCRATCH/b.json",
            beside: ["oidc-issuer": "https://a.example/", "oidc-audience": "a", "oidc-jwks-file": "SCRATCH/a.json"]
        ),
        "oidc-name-claim": Sample("nickname", beside: provider), "oidc-suffix": Sample("b", beside: provider),
        "oidc-role-claim": Sample("roles", beside: provider), "user-header-proxies": Sample("10.0.0.2", beside: proxy),
        "user-header": Sample("X-User", beside: proxy), "user-header-suffix": Sample("b", beside: proxy),
        "drain": Sample("1s"), "log-level": Sample("debug"),
    ]

    private static let certificate = ["tls-certificate": "SCRATCH/a.pem", "tls-key": "SCRATCH/a.pem"]
    private static let logCertificate = ["log-certificate": "SCRATCH/a.pem", "log-key": "SCRATCH/a.pem"]

    private let scratch: ScratchFolder
    /// Each one has a random password of its own.
    private let hasher = PasswordHasher()

    init() throws { scratch = try ScratchFolder() }

    /// The decisions of a start, as text.
    private typealias Start = (_ arguments: [String], _ settings: Settings) async throws -> String

    private func hubStart(_ arguments: [String], _ settings: Settings) async throws -> String {
        let command = try await HubServe.asyncParse(arguments)
        let settings = settings.overridden(by: command.configuration.flags.values)
        return Self.text(try command.plan(settings, HubState.directory(settings)))
    }

    private func backendStart(_ arguments: [String], _ settings: Settings) async throws -> String {
        let command = try await BackendCommand.asyncParse(arguments)
        let settings = settings.overridden(by: command.configuration.flags.values)
        let state = try HubState.directory(settings)
        var configuration = command.backendConfiguration(settings)
        configuration.hasher = hasher
        let parts: [Any] = [
            try command.listenConfiguration(settings, state), configuration,
            IdentitySettings(settings), command.logger(settings).logLevel,
            try HubConnection(settings, BackendSettings.connection),
        ]
        return parts.map(Self.text).joined(separator: "\n")
    }

    /// All stored properties of a value, and theirs.
    private static func text(_ value: Any) -> String {
        var text = ""
        dump(value, to: &text)
        return text
    }

    /// Compares the start with a sample by variable, and by flag, with one without it.
    private func compare(_ entry: SettingEntry, _ sample: Sample, _ start: Start) async throws {
        // A hub's certificate is made once, and copied for the settings that name files.
        _ = try await hubStart([], settings([:], of: .hub))
        for name in ["a.pem", "b.pem"] {
            try FileManager.default.copyItem(atPath: scratch.file("state/server.pem"), toPath: scratch.file(name))
        }
        let value = placed(sample.value)
        let beside = sample.beside.mapValues(placed)
        let former = try await start([], settings(beside, of: entry.section))
        let isSteady = try await start([], settings(beside, of: entry.section)) == former
        try #require(isSteady, "two starts differ without a change")
        let byVariable = try await start([], settings(beside.merging([entry.key: value]) { $1 }, of: entry.section))
        let hasVariable = byVariable != former
        #expect(hasVariable, "$\(entry.variable) has no effect")
        let isSwitch = entry.isFlag
        let flag = isSwitch ? [value == "true" ? "--\(entry.key)" : "--no-\(entry.key)"] : ["--\(entry.key)", value]
        let byFlag = try await start(flag, settings(beside, of: entry.section))
        let hasFlag = byFlag != former
        #expect(hasFlag, "--\(entry.key) has no effect")
    }

    private func placed(_ text: String) -> String { text.replacing("SCRATCH", with: scratch.path) }

    private func settings(_ values: [String: String], of section: SettingSection) throws -> Settings {
        // Names of this machine take time to find.
        let all = ["host-names": "localhost"].merging(values) { $1 }
        var variables = ["NEWSWIRE_HUB_STATE": scratch.file("state")]
        for entry in SettingsTable.entries(section) {
            if let value = all[entry.key] { variables[entry.variable] = value }
        }
        return try Settings.load(environment: variables, systemFile: scratch.file("none.yaml"))
    }

    @Test(arguments: SettingsTable.entries(.hub).map(\.key))
    func `a hub's start depends on each of its settings`(key: String) async throws {
        let entry = try #require(SettingsTable.entries(.hub).first { $0.key == key })
        let sample = try #require(Self.hub[key], "add a value of the new setting '\(key)'")
        try await compare(entry, sample, hubStart)
    }

    @Test(arguments: SettingsTable.entries(.backend).map(\.key))
    func `an app backend's start depends on each of its settings`(key: String) async throws {
        let entry = try #require(SettingsTable.entries(.backend).first { $0.key == key })
        let sample = try #require(Self.backend[key], "add a value of the new setting '\(key)'")
        try await compare(entry, sample, backendStart)
    }
}
