import NetworkAddresses
import Testing

@testable import DesktopNotifications

/// What can be said of notifications without a bus.
@Suite struct NotificationTests {
    @Test(arguments: [
        ("https://example.org/a?b=1&c=2#d", "https://example.org/a?b=1&c=2#d"),
        ("HTTP://example.org", "http://example.org"),
        ("https://example.org/$(reboot);'x'", "https://example.org/$(reboot);'x'"),
        ("https://münchen.example/ü", "https://m%C3%BCnchen.example/%C3%BC"),
        ("http://[::1]:8080/", "http://[::1]:8080/"),
    ])
    func `web addresses are links`(address: String, text: String) {
        #expect(WebLink(address)?.text == text)
    }

    @Test(arguments: [
        "", "example.org", "//example.org/", "file:///etc/passwd", "javascript:alert(1)", "mailto:a@example.org",
        "smb://example.org/x", "http:/example.org", "http://", "https:///etc/passwd", "http://:80/",
        " http://a.example/",
        "https://bank.example@evil.example/", "https://example.org/a b", "https://example.org/\u{1B}[31m",
        "https://example.org/\n--version", "https://example.org/\"x\"", "https://example.org/<b>",
        "-http://example.org/",
        "https://example.org/" + String(repeating: "a", count: 2_000),
    ])
    func `nothing else is a link`(address: String) {
        #expect(WebLink(address) == nil)
    }

    @Test func `texts are cleaned and cut between characters`() {
        let notification = DesktopNotification(
            key: "k",
            summary: "a\u{1B}[31m\0b\u{202E}\nc",
            body: String(repeating: "👩‍👩‍👧", count: 1_000)
        )
        #expect(notification.summary == "a[31mb c")
        #expect(notification.body.utf8.count <= DesktopNotification.maximumBody)
        #expect(notification.body.utf8.count > DesktopNotification.maximumBody - 30)
        #expect(notification.body.dropLast().allSatisfy { $0 == "👩‍👩‍👧" })
        #expect(notification.body.hasSuffix("…"))
        let huge = DesktopNotification(key: "k", summary: "e" + String(repeating: "\u{301}", count: 100_000), body: "")
        #expect(huge.summary == "…")
    }

    @Test(arguments: [
        (["body", "body-markup", "actions"], "title <i>", "a &lt;b&gt; &amp;amp;"),
        (["body", "actions"], "title <i>", "a <b> &amp;"),
        (["body", "body-markup"], "title <i>", "a &lt;b&gt; &amp;amp;\nhttps://example.org/?a&amp;b"),
        (["actions"], "title <i>: a <b> &amp;", ""),
        ([], "title <i>: a <b> &amp;", ""),
    ])
    func `the text is what the service can show`(capabilities: [String], summary: String, body: String) {
        let notification = DesktopNotification(
            key: "k",
            summary: "title <i>",
            body: "a <b> &amp;",
            link: WebLink("https://example.org/?a&b")
        )
        let text = notification.text(for: ServiceCapabilities(capabilities))
        #expect(text.summary == summary)
        #expect(text.body == body)
    }

    @Test func `the newest notifications are remembered, one for each key`() {
        var shown = ShownNotifications()
        let link = WebLink("https://example.org/")
        for number in 1...1_000 as ClosedRange<UInt32> {
            shown.add(number, DesktopNotification(key: "k\(number)", summary: "", body: "", link: link))
        }
        #expect(shown.count == ShownNotifications.capacity)
        #expect(shown.id(of: "k744") == nil)
        #expect(shown.id(of: "k745") == 745)
        shown.add(2_000, DesktopNotification(key: "k745", summary: "", body: ""))
        #expect(shown.count == ShownNotifications.capacity)
        #expect(shown.id(of: "k745") == 2_000)
        #expect(shown.link(of: 745) == nil)
        #expect(shown.link(of: 2_000) == nil)
        #expect(shown.link(of: 1_000) == link)
        shown.remove(1_000)
        #expect(shown.id(of: "k1000") == nil)
    }

    @Test(arguments: [
        (["DBUS_SESSION_BUS_ADDRESS": "unix:path=/a", "XDG_RUNTIME_DIR": "/run/user/1"], "unix:path=/a"),
        (["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "/run/user/1"], "unix:path=/run/user/1/bus"),
        (["XDG_RUNTIME_DIR": "/a b,c=d;\u{1}"], "unix:path=/a%20b%2cc%3dd%3b%01/bus"),
    ])
    func `the bus is found in the environment`(environment: [String: String], address: String) throws {
        #expect(try SessionBusAddress.find(in: environment) == address)
    }

    @Test func `without an address there is no bus`() {
        #expect(throws: DesktopError.noBus("$DBUS_SESSION_BUS_ADDRESS and $XDG_RUNTIME_DIR are not set")) {
            try SessionBusAddress.find(in: ["XDG_RUNTIME_DIR": "run"])
        }
    }
}
