import Foundation
import HubProtocol
import Testing

@testable import Settings

@Suite struct SettingsTests {
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appending(component: "nws-\(UUID().uuidString.prefix(8))")
            .path

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ text: String, _ name: String = "newswire.yaml") throws -> String {
            let file = "\(path)/\(name)"
            let folder = URL(filePath: file).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            return file
        }
    }

    private func load(
        _ yaml: String,
        _ environment: [String: String] = [:]
    ) throws -> (settings: Settings, problems: [String]) {
        let folder = try Folder()
        let file = try folder.write(yaml)
        let (settings, problems) = Settings.inspect(file: file, environment: environment, systemFile: "/nonexistent")
        return (settings, problems.map { $0.description.replacing("'\(file)'", with: "FILE") })
    }

    @Test func `without anything all is at its default`() throws {
        let settings = try Settings.load(environment: [:], systemFile: "/nonexistent")
        #expect(settings.file == nil)
        #expect(settings.value(HubSettings.port) == 8787)
        #expect(settings.value(HubSettings.timeToLive) == .seconds(72 * 3600))
        #expect(settings.value(HubSettings.reservedTagPrefixes) == .standard)
        #expect(settings.value(PublisherSettings.cap) == .atMost(5))
        #expect(settings.value(AgentSettings.exec) == nil)
        #expect(settings.origin(of: HubSettings.port.entry) == nil)
    }

    @Test func `a flag counts before the environment, that before the file, that before the default`() throws {
        let yaml = "hub:\n  port: 1001\n  drain: 20s\n"
        let (settings, problems) = try load(yaml, ["NEWSWIRE_HUB_PORT": "1002"])
        #expect(problems == [])
        let flagged = settings.overridden(by: [HubSettings.port.entry.id: 1003])
        #expect(flagged.value(HubSettings.port) == 1003 && flagged.origin(of: HubSettings.port.entry) == .flag)
        #expect(settings.value(HubSettings.port) == 1002)
        #expect(settings.value(HubSettings.drain) == .seconds(20))
        #expect(settings.value(HubSettings.logSize) == 1 << 30)
        #expect(settings.origin(of: HubSettings.port.entry) == .variable("NEWSWIRE_HUB_PORT"))
    }

    @Test func `an empty variable is not set, and a shared one comes after a program's own`() throws {
        let (settings, problems) = try load(
            "hub: {log-level: debug}\nagent: {log-level: info}\n",
            ["NEWSWIRE_HUB_LOG_LEVEL": "", "NEWSWIRE_LOG_LEVEL": "error", "NEWSWIRE_AGENT_LOG_LEVEL": "trace"]
        )
        #expect(problems == [])
        #expect(settings.value(HubSettings.logLevel) == .error)
        #expect(settings.value(AgentSettings.logLevel) == .trace)
    }

    @Test func `the file is found in its places in order`() throws {
        let folder = try Folder()
        let system = try folder.write("hub: {port: 1}", "etc/newswire.yaml")
        let named = try folder.write("hub: {port: 2}", "named.yaml")
        _ = try folder.write("hub: {port: 3}", "home/.config/newswire/newswire.yaml")
        _ = try folder.write("hub: {port: 4}", "xdg/newswire/newswire.yaml")
        func port(_ environment: [String: String], file: String? = nil, system: String = "/nonexistent") throws -> Int {
            let settings = try Settings.load(file: file, environment: environment, systemFile: system)
            return settings.value(HubSettings.port)
        }
        let home = ["HOME": "\(folder.path)/home"]
        #expect(try port(home) == 3)
        #expect(try port(home.merging(["XDG_CONFIG_HOME": "\(folder.path)/xdg"]) { $1 }) == 4)
        #expect(try port(home, system: system) == 1)
        #expect(try port(["NEWSWIRE_CONFIG": named], system: system) == 2)
        #expect(try port(["NEWSWIRE_CONFIG": "/nonexistent"], file: named) == 2)
        #expect(throws: SettingsError.self) { try port(["NEWSWIRE_CONFIG": "/nonexistent"]) }
    }

    @Test func `the standard file is that of services, whatever this session says`() throws {
        let folder = try Folder()
        let system = try folder.write("hub: {port: 1}", "etc/newswire.yaml")
        let session = [
            "HOME": "/home/alice", "XDG_CONFIG_HOME": "\(folder.path)/xdg", "NEWSWIRE_CONFIG": "/elsewhere.yaml",
        ]
        func file(isRoot: Bool, _ environment: [String: String], system: String = "/nonexistent") -> String? {
            Settings.standardFile(isRoot: isRoot, environment: environment, systemFile: system)
        }
        #expect(file(isRoot: false, session) == "/home/alice/.config/newswire/newswire.yaml")
        #expect(file(isRoot: false, session, system: system) == system)
        #expect(file(isRoot: true, session, system: system) == system)
        #expect(file(isRoot: true, session) == "/nonexistent", "root's services have no other")
        #expect(file(isRoot: false, [:]) == nil && file(isRoot: false, ["HOME": ""]) == nil)
        // A user's programs read what it says.
        #expect(try Settings.load(environment: ["HOME": "/none"], systemFile: system).file == system)
    }

    @Test func `all problems come at once, with file and line and the nearest name`() throws {
        let yaml = """
            hub:
              prot: 9000
              port: 99999
              log-size: 5
            publsher:
              cap: 3
            agent:
              handler-timeout: [1, 2]
            """
        let (_, problems) = try load(yaml, ["NEWSWIRE_HUB_LOGLEVEL": "x", "NEWSWIRE_PUBLISHER_CAP": "zero"])
        #expect(
            problems.map { $0.prefix { $0 != "?" } } == [
                "FILE line 2: unknown key 'prot': did you mean 'port'",
                "FILE line 3: 'port' '99999': must be 0 to 65535",
                "FILE line 4: 'log-size' '5': must be a size such as 512MiB or 1GiB",
                "FILE line 5: unknown section 'publsher': did you mean 'publisher'",
                "FILE line 8: 'handler-timeout' must be a time",
                "$NEWSWIRE_HUB_LOGLEVEL: unknown variable: did you mean NEWSWIRE_HUB_LOG_LEVEL",
                "$NEWSWIRE_PUBLISHER_CAP: its value 'zero': must be 1 to 1000, or none",
            ]
        )
    }

    @Test func `a variable of ours that nobody knows is a mistake, whatever it begins with`() throws {
        let environment = [
            "NEWSWIRE_CONECTION_FILE": "/x", "NEWSWIRE_LOG_LEVEL": "info", "NEWSWIRE_CONFIG": "", "NEWSWIRE_ID": "m1",
            "NEWSWIRE_EMPTY": "", "HOME": "/x",
        ]
        let (_, problems) = Settings.inspect(
            environment: environment,
            otherVariables: ["NEWSWIRE_ID"],
            systemFile: "/nonexistent"
        )
        #expect(
            problems.map(\.description) == [
                "$NEWSWIRE_CONECTION_FILE: unknown variable: did you mean NEWSWIRE_CONNECTION_FILE?"
            ]
        )
    }

    @Test(arguments: [
        "publisher:\n  connection-file: Endpoint=http://h/;SharedAccessKeyName=a;SharedAccessKey=CANARY=\n",
        "agent:\n  connection-string: CANARY\n", "hub:\n  password: CANARY\n", "hub:\n  secret: {key: CANARY}\n",
        "hub:\n  [CANARY\n", "CANARY", "hub: CANARY", "hub:\n  port: 1\n  port: CANARY\n",
    ])
    func `a secret in the wrong place is an error that does not show it`(yaml: String) throws {
        let (_, problems) = try load(yaml)
        #expect(problems.count == 1, "\(problems)")
        #expect(!problems.joined().contains("CANARY"), "\(problems)")
    }

    @Test(arguments: ["", "# nothing yet\n", "hub:\npublisher:\n", "{}"])
    func `an empty file or section leaves the defaults`(yaml: String) throws {
        #expect(try load(yaml).problems == [])
    }

    @Test func `paths are relative to their file, and a program without a slash is looked up`() throws {
        let folder = try Folder()
        let file = try folder.write(
            "publisher: {feeds: lists, state: ~/p, connection-file: /k}\nagent: {exec: show}\nhub: {state: ./h}\n"
        )
        let settings = try Settings.load(file: file, environment: ["HOME": "/home/me"])
        #expect(settings.value(PublisherSettings.feeds) == "\(folder.path)/lists")
        #expect(settings.value(PublisherSettings.state) == "/home/me/p")
        #expect(settings.value(PublisherSettings.connection.connectionFile) == "/k")
        #expect(settings.value(AgentSettings.exec) == "show")
        #expect(settings.value(HubSettings.state) == "\(folder.path)/./h")
    }

    @Test func `a list is a YAML list or has commas, and may be empty`() throws {
        func prefixes(_ yaml: String, _ environment: [String: String] = [:]) throws -> [String] {
            try load(yaml, environment).settings.value(HubSettings.reservedTagPrefixes).prefixes
        }
        #expect(try prefixes("hub: {reserved-tag-prefixes: ['vip:', 'x-']}") == ["vip:", "x-"])
        #expect(try prefixes("hub: {reserved-tag-prefixes: 'vip:, x-'}") == ["vip:", "x-"])
        #expect(try prefixes("hub: {reserved-tag-prefixes: []}") == [])
        #expect(try prefixes("", ["NEWSWIRE_HUB_RESERVED_TAG_PREFIXES": "a:,b:"]) == ["a:", "b:"])
        #expect(try load("hub: {reserved-tag-prefixes: ['a b']}").problems.count == 1)
    }

    @Test(arguments: [
        ("hub", "time-to-live", ["60s", "72h", "365d"], ["0s", "59s", "366d", "1", "h", "1w", "99999999999d", "-1h"]),
        ("hub", "log-size", ["1MiB", "1024KiB", "1TiB"], ["1", "1GB", "1023KiB", "2TiB", "9999999TiB"]),
        ("hub", "maximum-tags", ["1", "60", "4000"], ["0", "4001", "x", ""]),
        ("hub", "maximum-expression-tags", ["1", "6", "100"], ["0", "101", ""]),
        ("hub", "maximum-alternatives", ["1", "20", "100"], ["0", "101", ""]),
        ("hub", "listen-registrations", ["1", "100000000"], ["0", "100000001", ""]),
        ("hub", "listen-size", ["1MiB", "1TiB"], ["1023KiB", "2TiB"]),
        ("hub", "listen-writes", ["1", "100000"], ["0", "100001"]),
        ("hub", "change-size", ["1MiB", "1TiB"], ["1023KiB", "2TiB"]),
        ("hub", "insecure-listen", ["true", "false"], ["yes", "1", "TRUE"]),
        ("hub", "name", ["news", "a.b"], ["metrics", "a/b", ""]),
        ("hub", "listen", ["::1", "[::1]", "10.0.0.1"], ["", "a b", "http://x", "[::1", "[hub]"]),
        (
            "backend", "oidc-issuer",
            ["https://login.example.org/realms/news", "https://e.org/", "http://127.0.0.1:8080"],
            ["", "login.example.org", "http://login.example.org", "https://", "https:///x", "https://e.org/#x"]
        ),
        (
            "hub", "log-servers",
            ["nats://localhost", "tls://log1.example.org:4222, tls://[2001:db8::1]:4222", "nats://127.0.0.1:1"],
            [
                "", "log1.example.org", "http://log1.example.org", "nats://", "nats://a/b", "nats://a:0",
                "nats://a:70000", "tls://a,", "tls://user:password@a",
            ]
        ),
        ("hub", "log-node", ["a", "desk_1-b"], ["", "a.b", "a b", "*", ">", "ü", String(repeating: "a", count: 33)]),
        ("hub", "log-credentials", ["/etc/newswire/hub.creds"], ["", "-----BEGIN PRIVATE KEY-----"]),
        ("backend", "oidc-suffix", ["corp", "login.example-1"], ["", "@corp", "a b", "a_b", "ü"]),
        ("backend", "user-header", ["X-Forwarded-User", "Remote_User"], ["", "X User", "X:User"]),
        ("backend", "may-notify-roles", ["editors", "editors, Domain Users"], ["", "a,,b", "a\tb"]),
        ("publisher", "cap", ["none", "1"], ["0", "-1", "some", ""]),
        ("publisher", "contact", ["me@example.org", "https://e.org/"], ["a b", "x)", "ü", "a\nb"]),
        ("publisher", "publisher", ["desk-1"], ["..", "a/b", ""]),
        ("agent", "log-level", ["trace"], ["loud"]),
    ])
    func `values within their bounds are taken and others are not`(
        section: String,
        key: String,
        good: [String],
        bad: [String]
    ) throws {
        let entry = try #require(SettingsTable.entries.first { $0.section.rawValue == section && $0.key == key })
        for text in good { #expect(throws: Never.self, "\(text)") { try entry.read(text) } }
        for text in bad { #expect(throws: SettingValueError.self, "\(text)") { try entry.read(text) } }
    }

    @Test func `keys that begin alike may be written below one another`() throws {
        let folder = try Folder()
        let file = try folder.write(
            """
            hub:
              log-level: info
              log:
                servers: [nats://localhost, "nats://127.0.0.1:4223"]
                node: a
                ca: ca.pem
            """
        )
        let settings = try Settings.load(file: file, environment: ["NEWSWIRE_HUB_LOG_NAME": "desk"])
        #expect(
            settings.value(HubSettings.logServers)?.map { "\($0)" } == [
                "nats://localhost:4222", "nats://127.0.0.1:4223",
            ]
        )
        #expect(settings.value(HubSettings.logNode) == "a")
        #expect(settings.value(HubSettings.logName) == "desk")
        #expect(settings.value(HubSettings.logAuthority) == "\(folder.path)/ca.pem")
        #expect(settings.value(HubSettings.logLevel) == .info)
        let mistaken = try folder.write("hub: {log: {nod: a, servers: 'tls://user:canary@log1'}}")
        let problems = Settings.inspect(file: mistaken, environment: [:]).1.map(\.description)
        #expect(problems.count == 2)
        #expect(problems.contains { $0.contains("unknown key 'nod': did you mean 'node'?") }, "\(problems)")
        #expect(problems.contains { $0.contains("must not contain user names and passwords") }, "\(problems)")
        #expect(!problems.contains { $0.contains("canary") })
    }

    @Test func `a file that is too large, no text or a folder is said to be so`() throws {
        let folder = try Folder()
        let file = try folder.write(String(repeating: "# comment\n", count: 10_000))
        for path in [file, folder.path] {
            let (_, problems) = Settings.inspect(file: path, environment: [:])
            #expect(problems.count == 1)
            #expect(problems.first?.text.hasPrefix("cannot read the configuration") == true)
        }
    }
}
