import Testing

@testable import Settings

@Suite struct SettingsFileTextTests {
    private static let listen = SettingChange(HubSettings.listen.entry, .word("0.0.0.0"))
    private static let names = SettingChange(HubSettings.hostNames.entry, .list(["hub.example.org", "::1"]))
    private static let contact = SettingChange(HubSettings.pushContact.entry, .none)

    static let cases: [(label: String, before: String, after: String)] = [
        ("a new file", "", "hub:\n  listen: 0.0.0.0\n  host-names: [\"hub.example.org\", \"::1\"]\n"),
        (
            "a file with comments alone", "# ours\n",
            "# ours\nhub:\n  listen: 0.0.0.0\n  host-names: [\"hub.example.org\", \"::1\"]\n"
        ),
        (
            "other sections stay, and so does a missing end of line", "agent:\n  notify: true # here",
            "agent:\n  notify: true # here\nhub:\n  listen: 0.0.0.0\n  host-names: [\"hub.example.org\", \"::1\"]\n"
        ),
        (
            "values are replaced where they stand",
            "hub:   # the hub\n    # Where.\n    listen: 127.0.0.1   # only here\n    port: 1\n\n    host-names:\n      - a\n      - b # b\n    drain: 1s\n# end\n",
            "hub:   # the hub\n    # Where.\n    listen: 0.0.0.0   # only here\n    port: 1\n\n    host-names: [\"hub.example.org\", \"::1\"]\n    drain: 1s\n# end\n"
        ),
        (
            "a quoted value with a hash", "hub:\n  listen: \"127.0.0.1\" # a\n  host-names: [\"a\", b] # c\n",
            "hub:\n  listen: 0.0.0.0 # a\n  host-names: [\"hub.example.org\", \"::1\"] # c\n"
        ),
        (
            "an empty section", "hub:\nagent:\n  notify: true\n",
            "hub:\n  host-names: [\"hub.example.org\", \"::1\"]\n  listen: 0.0.0.0\nagent:\n  notify: true\n"
        ),
        (
            "a value is taken out", "hub:\n  push-contact: ops@example.org\n  listen: 0.0.0.0\n",
            "hub:\n  listen: 0.0.0.0\n  host-names: [\"hub.example.org\", \"::1\"]\n"
        ),
        (
            "line ends of Windows", "hub:\r\n  listen: 127.0.0.1 # a\r\n",
            "hub:\r\n  listen: 0.0.0.0 # a\r\n  host-names: [\"hub.example.org\", \"::1\"]\r\n"
        ),
        (
            "nothing is written where nothing changes",
            "hub: {listen: 0.0.0.0, host-names: [hub.example.org, \"::1\"]}\n",
            "hub: {listen: 0.0.0.0, host-names: [hub.example.org, \"::1\"]}\n"
        ),
        (
            "a name in two levels", "hub:\n  host: # a\n    names: [a] # b\n  log:\n    node: c\n",
            "hub:\n  host: # a\n    names: [\"hub.example.org\", \"::1\"] # b\n  log:\n    node: c\n  listen: 0.0.0.0\n"
        ),
        (
            "hubs and rules stay", "hubs:\n  orders:\n    registration-time-to-live: 90d\n",
            "hubs:\n  orders:\n    registration-time-to-live: 90d\nhub:\n  listen: 0.0.0.0\n  host-names: [\"hub.example.org\", \"::1\"]\n"
        ),
    ]

    @Test(arguments: cases)
    func `settings are changed, and everything else stays as it was`(label: String, before: String, after: String)
        throws
    {
        var text = SettingsFileText(file: "f", text: before)
        try text.apply([Self.listen, Self.names, Self.contact])
        // A section that was empty takes its settings one after another, the last one first.
        #expect(Set(text.text.split(separator: "\n")) == Set(after.split(separator: "\n")), "\(label)")
        if label != "an empty section" { #expect(text.text == after, "\(label)") }
        #expect(text.value(of: HubSettings.listen.entry) == "0.0.0.0")
        #expect(text.value(of: HubSettings.hostNames.entry) == "hub.example.org,::1")
        let once = text
        try text.apply([Self.listen, Self.names, Self.contact])
        #expect(text == once, "\(label)")
    }

    @Test(arguments: [
        "hub: {port: 1}\n", "{hub: {port: 1}}\n", "hub: &a\n  port: 1\n  <<: *a\n", "- hub\n",
        "hub:\n  listen: >-\n    127.0.0.1\n  port: 2\n", "hub:\n  host: {names: [a]}\n", "hub: [\n",
    ])
    func `a style that cannot be changed line by line is left alone, and the lines are named`(before: String) {
        var text = SettingsFileText(file: "f", text: before)
        #expect {
            try text.apply([Self.listen, Self.names, Self.contact])
        } throws: { error in
            (error as? SettingsShapeError)?.lines.first == "hub: listen: 0.0.0.0"
        }
        #expect(text.text == before)
    }
}
