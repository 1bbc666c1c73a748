import FoundationEssentials
import Testing

@testable import HubProtocol

@Suite struct ForwardedHeadersTests {
    /// 2030-01-01 12:00 UTC.
    static let now = Date(timeIntervalSince1970: 1_893_499_200)

    private func headers(_ format: MessageFormat, _ headers: [(name: String, value: String)]) throws -> [String: String]
    {
        try ForwardedHeaders(of: headers, format: format, now: Self.now).values
    }

    @Test(arguments: [
        ("JS", MessageFormat.apple, "apns-push-type", "alert", "apns-push-type"),
        (".NET", .apple, "X-Apns-Priority", "5", "apns-priority"),
        ("Go-d", .apple, "X-Apns-Push-Type", "background", "apns-push-type"),
        ("Java", .windows, "X-WNS-Type", "wns/toast", "x-wns-type"),
        (".NET", .windows, "X-WNS-Tag", "t", "x-wns-tag"),
        (".NET", .windowsphone, "X-WindowsPhone-Target", "token", "x-windowsphone-target"),
        ("Python", .windowsphone, "X-NotificationClass", "2", "x-notificationclass"),
        (".NET", .baidu, "X-Baidu-Message-Type", "1", "x-baidu-message-type"),
        ("JS", .browser, "TTL", "60", "ttl"),
    ])
    func `a format's own headers are kept under the push service's names`(
        client: String,
        format: MessageFormat,
        name: String,
        value: String,
        kept: String
    ) throws {
        #expect(try headers(format, [(name, value)]) == [kept: value], "\(client)")
        #expect(try headers(.template, [(name, value)]) == [kept: value], "a template reaches every platform")
        #expect(try headers(.stream, [(name, value)]) == [:])
    }

    @Test func `other headers stay with the hub`() throws {
        let names = [
            "Authorization", "Content-Type", "ServiceBusNotification-Tags", "TrackingId", "User-Agent", "apns-",
            "X-Apns-",
            "X-WNS-Type", "x-ms-version", "Cookie",
        ]
        #expect(try headers(.apple, names.map { ($0, "x") }) == [:])
    }

    @Test func `of two spellings of one name the push service's own counts`() throws {
        #expect(try headers(.apple, [("X-Apns-Priority", "5"), ("apns-priority", "10")]) == ["apns-priority": "10"])
        #expect(try headers(.apple, [("apns-priority", "10"), ("X-Apns-Priority", "5")]) == ["apns-priority": "10"])
    }

    @Test(arguments: ["\u{1F4A9}", "a\u{0}b", "\u{FFFD}", "", "a\r\nb"])
    func `Go-d's bytes in X-Apns-Expiration are left out`(value: String) throws {
        #expect(try headers(.apple, [("X-Apns-Expiration", value), ("apns-topic", "t")]) == ["apns-topic": "t"])
    }

    @Test(arguments: [
        ("azure-sb", "2030-01-02T00:00:00Z", "1893542400"), ("azure-sb", "2030-01-02T00:00:00.000Z", "1893542400"),
        (".NET", "01/02/2030 13:00:00", "1893589200"), ("Java, past noon", "01/01/2030 01:00:00", "1893502800"),
        ("Java, tomorrow", "01/02/2030 01:00:00", "1893546000"), ("Java, past", "12/30/2029 01:00:00", "1893286800"),
        ("with a half", "1/1/2030 1:00:00 PM", "1893502800"), ("at midnight", "01/02/2030 12:00:00 am", "1893542400"),
    ])
    func `an apple expiry becomes the push service's header`(client: String, header: String, seconds: String) throws {
        let given = [(name: "servicebusnotification-apns-expiry", value: header)]
        #expect(try headers(.apple, given) == ["apns-expiration": seconds], "\(client)")
        #expect(try headers(.gcm, given) == [:])
        #expect(
            try headers(.apple, given + [("X-Apns-Expiration", "7")]) == ["apns-expiration": "7"],
            "what the push service is told by its own name counts"
        )
    }

    @Test(arguments: [
        "", "soon", "13/40/2030 00:00:00", "01/02/2030", "01/02/2030 25:00:00", "1/2/3/4 5:6:7", "\u{1F4A9}",
    ])
    func `an apple expiry that cannot be read is passed over`(header: String) throws {
        #expect(try headers(.apple, [(HeaderName.apnsExpiry, header)]) == [:])
    }

    @Test func `headers are bounded in size and number`() throws {
        let long = String(repeating: "x", count: ForwardedHeaders.maximumValueBytes + 1)
        #expect(throws: ProtocolError.badRequest("The header 'apns-topic' is longer than 1024 bytes.")) {
            try headers(.apple, [("apns-topic", long)])
        }
        let many = (0...ForwardedHeaders.maximumCount).map { (name: "apns-\($0)", value: "x") }
        #expect(try headers(.apple, Array(many.dropLast())).count == ForwardedHeaders.maximumCount)
        #expect(throws: ProtocolError.badRequest("There are more than 32 headers for push services.")) {
            try headers(.apple, many)
        }
    }
}
