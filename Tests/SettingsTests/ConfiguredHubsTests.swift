import Foundation
import HubProtocol
import Testing

@testable import Settings

@Suite struct ConfiguredHubsTests {
    private func read(_ yaml: String) -> (hubs: ConfiguredHubs, problems: [String]) {
        var reader = SettingsFileReader(file: "/etc/nw/newswire.yaml", home: "/home/me")
        _ = reader.read(yaml)
        return (reader.hubs, reader.problems.map { $0.description.replacing("'/etc/nw/newswire.yaml' ", with: "") })
    }

    @Test func `hubs, rules and the files of keys are read, with the rights that everybody knows`() throws {
        let (hubs, problems) = read(
            """
            namespace:
              rules:
                RootManageSharedAccessKey: {primary-key-file: ~/root}
            hubs:
              orders:
                registration-time-to-live: 90d
                rules:
                  DefaultListenSharedAccessSignature:
                    primary-key-file: keys/listen
                  Senders:
                    rights: [Send, listen]
                    primary-key-file: $CREDENTIALS_DIRECTORY/senders
                    secondary-key-file: /run/two
                  All: {rights: "Listen, Manage, Send", primary-key-file: k}
              empty:
            """
        )
        #expect(problems == [])
        func rule(_ name: String, _ rights: AccessRights, _ primary: String, _ secondary: String? = nil, _ line: Int)
            -> ConfiguredRule
        {
            ConfiguredRule(
                name: name,
                rights: rights,
                primaryKeyFile: primary,
                secondaryKeyFile: secondary,
                origin: .file("/etc/nw/newswire.yaml", line: line)
            )
        }
        let all: AccessRights = [.listen, .manage, .send]
        #expect(hubs.rules == [rule("RootManageSharedAccessKey", all, "/home/me/root", nil, 3)])
        #expect(
            hubs.hubs == [
                ConfiguredHub(
                    name: try HubName("orders"),
                    registrationTimeToLive: .seconds(90 * 86_400),
                    rules: [
                        rule("DefaultListenSharedAccessSignature", .listen, "/etc/nw/keys/listen", nil, 8),
                        rule("Senders", [.listen, .send], "$CREDENTIALS_DIRECTORY/senders", "/run/two", 10),
                        rule("All", all, "/etc/nw/k", nil, 14),
                    ]
                ),
                ConfiguredHub(name: try HubName("empty"), registrationTimeToLive: nil, rules: []),
            ]
        )
    }

    @Test func `a hub's pages have a title, a description, a picture and a colour`() throws {
        let (hubs, problems) = read(
            """
            hubs:
              news:
                page-title: "Town news"
                page-description: What happens in town
                page-logo: logo.png
                page-accent: "#005a9c"
                page-images: true
                approval: two
              other: {page-title: "", page-logo: ~, page-accent: [a], page-images: yes, approval: 2}
            """
        )
        func entry(_ text: String, _ line: Int) -> ConfiguredPage.Entry {
            ConfiguredPage.Entry(text: text, origin: .file("/etc/nw/newswire.yaml", line: line))
        }
        var page = ConfiguredPage()
        page.title = entry("Town news", 3)
        page.description = entry("What happens in town", 4)
        page.logo = entry("/etc/nw/logo.png", 5)
        page.accent = entry("#005a9c", 6)
        (page.images, page.approvesUrgent) = (true, true)
        #expect(hubs.hubs.first?.page == page)
        #expect(
            problems == [
                "line 9: 'page-title' must be a text of one line",
                "line 9: 'page-logo' must be the path of a file with a PNG",
                "line 9: 'page-accent' must be a text of one line",
                "line 9: 'page-images' must be false or true",
                "line 9: 'approval' must be one or two",
            ]
        )
    }

    @Test func `all that is wrong is said at once, with line and the nearest name`() {
        let (_, problems) = read(
            """
            namespace:
              rulez: {}
            hubs:
              healthz: {}
              News:
                registration-time-to-live: 5h
              news: {}
              orders:
                ruels: {}
                rules:
                  "a b": {primary-key-file: k}
                  Silent: {primary-key-file: k}
                  Mighty: {rights: [Manage], primary-key-file: k}
                  Odd: {rights: [Fly], primary-key-file: k}
                  Keyless: {rights: [Send]}
                  Twice: {rights: [Send], primary-key-file: k}
                  twice: {rights: [Send], primary-key-file: k}
                  List: {rights: [Send], primary-key-file: [k]}
              flat: 5
            """
        )
        #expect(
            problems.map { $0.prefix { $0 != "?" && $0 != ";" } } == [
                "line 2: unknown key 'rulez': did you mean 'rules'",
                "line 4: hub 'healthz': hub name 'healthz' is reserved for the server itself",
                "line 6: 'registration-time-to-live' of hub 'News' must be 24h to 36500d",
                "line 7: hub 'news' appears twice",
                "line 9: unknown key 'ruels': did you mean 'rules'",
                "line 11: 'a b' cannot name a rule: use 1 to 256 letters, digits and -_.!*().",
                "line 12: rule 'Silent' has no 'rights', such as [Listen, Send]",
                "line 13: Rule 'Mighty' has Manage and so needs Send and Listen too.",
                "line 14: rule 'Odd' has the unknown right 'Fly': known are Listen, Manage, Send",
                "line 15: rule 'Keyless' has no 'primary-key-file'",
                "line 17: hub 'orders' has two rules 'twice'",
                "line 18: 'primary-key-file' must be the path of a file with the key",
                "line 19: hub 'flat' must hold settings such as '    rules:'",
            ]
        )
    }

    @Test(arguments: [
        "hubs: {a: {rules: {R: {rights: [Send], primary-key: CANARY}}}}",
        "hubs: {a: {rules: {R: {rights: [Send], primaryKey: CANARY}}}}",
        "hubs: {a: {rules: {R: CANARY}}}", "hubs: {a: {secret: CANARY}}", "hubs: [CANARY]", "namespace: CANARY",
    ])
    func `a key in the file is refused and not shown`(yaml: String) {
        let (hubs, problems) = read(yaml)
        #expect(problems.count == 1, "\(problems)")
        #expect(!problems.joined().contains("CANARY"))
        #expect(hubs.hubs.flatMap(\.rules).isEmpty)
        if yaml.contains("primary") { #expect(problems[0].contains("'primary-key-file'"), "\(problems)") }
    }

    @Test func `a hub has at most twelve rules`() {
        let rules = (0..<13).map { "R\($0): {rights: [Send], primary-key-file: k}" }.joined(separator: ", ")
        #expect(read("hubs: {a: {rules: {\(rules)}}}").problems == ["line 1: hub 'a' has more than 12 rules"])
    }
}
