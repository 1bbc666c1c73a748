import Formats
import FoundationEssentials
import Testing

@testable import HubProtocol

@Suite struct SendRequestTests {
    private static let now = Date(timeIntervalSince1970: 1_893_456_000)
    private static let apple = #"{"aps":{"alert":"é"}}"#

    private func send(
        _ headers: [String: String],
        _ body: [UInt8],
        kind: SendRequest.Kind = .messages,
        query: String = "api-version=2020-06"
    ) throws -> SendRequest {
        try SendRequest(
            kind,
            headers: headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) },
            query: query,
            body: body,
            now: Self.now
        )
    }

    private func refusal(
        _ headers: [String: String],
        _ body: String,
        kind: SendRequest.Kind = .messages,
        query: String = ""
    ) throws -> ProtocolError {
        try #require(
            #expect(throws: ProtocolError.self) { try send(headers, body.bytes, kind: kind, query: query) }
        )
    }

    // MARK: - Formats

    @Test(arguments: [
        ("docs", "fcmV1", MessageFormat.fcmv1), ("Go, in lower case", "apple", .apple), ("an old .NET", "GCM", .gcm),
        ("Ruby-m", " gcm ", .gcm),
    ])
    func `formats are read in any case`(client: String, header: String, format: MessageFormat) throws {
        let request = try send(["Servicebusnotification-Format": header], Self.apple.bytes)
        #expect(request.message.format == format, "\(client)")
        #expect(request.message.format.rawValue == format.rawValue, "one spelling is kept")
        #expect(request.message.body == Self.apple.bytes)
    }

    @Test(arguments: [[:], ["ServiceBusNotification-Format": ""], ["ServiceBusNotification-Format": "Template"]])
    func `no format is a template`(headers: [String: String]) throws {
        #expect(try send(headers, #"{"a":"b"}"#.bytes).message.format == .template)
    }

    @Test(arguments: [#"{"aps":{"alert":"x"}}"#, "words"])
    func `a body that is not for a template is refused with the header that is missing`(body: String) throws {
        for headers in [[:], ["ServiceBusNotification-Format": ""]] {
            let missing = try refusal(headers, body)
            #expect(missing.status == 400)
            #expect(missing.detail.hasPrefix("ServiceBusNotification-Format is missing, "), "\(missing.detail)")
            #expect(missing.detail.contains(body == "words" ? "not valid JSON" : "'aps' is an object"))
        }
        let named = try refusal(["ServiceBusNotification-Format": "template"], body)
        #expect(!named.detail.contains("is missing"), "\(named.detail)")
    }

    @Test func `an unknown format is refused with those that are known`() throws {
        let error = try refusal(["ServiceBusNotification-Format": "nokiax"], "{}")
        #expect(error.status == 400 && error.detail.contains("'nokiax'") && error.detail.contains("fcmv1, adm, baidu"))
    }

    // MARK: - Bodies

    @Test(arguments: [
        ("bare type", "application/json", Self.apple.bytes),
        ("with a charset", "application/json;charset=utf-8", Self.apple.bytes),
        ("Python, charset in quotes", "application/json;charset=\"utf-8\"", Self.apple.bytes),
        ("none", "", Self.apple.bytes),
        ("a mark of UTF-8", "application/json", [0xEF, 0xBB, 0xBF] + Self.apple.bytes),
        (".NET, UTF-16 with its mark", "application/json", [0xFF, 0xFE] + utf16(Self.apple)),
        (".NET, UTF-16 without a mark", "application/json", utf16(Self.apple)),
        ("UTF-16 named", "application/json; charset=utf-16", utf16(Self.apple)),
        ("big-endian", "application/json", utf16(Self.apple, bigEndian: true)),
        (
            ".NET, ISO 8859-1 named", "application/json; charset=ISO-8859-1",
            Array(Self.apple.unicodeScalars.map { UInt8($0.value) })
        ),
        ("a form's type (.NET Baidu)", "application/x-www-form-urlencoded", Self.apple.bytes),
    ])
    func `a body is decoded by its marks, its declaration or as UTF-8`(
        name: String,
        type: String,
        body: [UInt8]
    ) throws {
        for format in ["apple", "baidu"] {
            let request = try send(["ServiceBusNotification-Format": format, "Content-Type": type], body)
            #expect(String(decoding: request.message.body, as: UTF8.self) == Self.apple, "\(name)")
        }
    }

    @Test func `bytes of no known charset are refused`() throws {
        let error = try #require(
            #expect(throws: ProtocolError.self) {
                try send(
                    ["ServiceBusNotification-Format": "apple"],
                    Array("{\"a\":\"".utf8) + [0xE9] + Array("\"}".utf8)
                )
            }
        )
        #expect(error.status == 400 && error.detail.contains("not UTF-8") && error.detail.contains("name its charset"))
    }

    @Test func `a .NET toast that says utf-16 in UTF-8 is taken as it is, and its root gives its kind`() throws {
        let toast = #"<?xml version="1.0" encoding="utf-16"?><toast launch="a"><visual>é</visual></toast>"#
        let request = try send(
            ["ServiceBusNotification-Format": "windows", "Content-Type": "application/xml"],
            toast.bytes
        )
        #expect(String(decoding: request.message.body, as: UTF8.self) == toast)
        #expect(request.message.headers.values == ["x-wns-type": "wns/toast"])
        let wide = try send(["ServiceBusNotification-Format": "windows"], [0xFF, 0xFE] + Self.utf16(toast))
        #expect(String(decoding: wide.message.body, as: UTF8.self) == toast)
    }

    @Test(arguments: [
        (
            "raw of any bytes", "windows", ["X-WNS-Type": "wns/raw", "Content-Type": "application/octet-stream"],
            [0, 0xFF, 0x7B]
        ),
        ("tile", "windows", ["X-WNS-Type": "wns/tile"], "<tile/>".bytes),
        ("badge, upper case", "windows", ["x-wns-type": "WNS/BADGE"], "<badge value=\"1\"/>".bytes),
        (
            "wp toast", "windowsphone", ["X-WindowsPhone-Target": "toast"],
            "<wp:Notification xmlns:wp=\"WPNotification\"/>".bytes
        ),
        (
            ".NET's tile of mpns", "windowsphone", ["X-WindowsPhone-Target": "token"],
            "<wp:Notification xmlns:wp=\"WPNotification\"/>".bytes
        ),
        ("raw of mpns", "windowsphone", [:], "words".bytes), ("baidu", "baidu", [:], "words".bytes),
        ("xiaomi", "xiaomi", [:], "payload=x".bytes), ("fcmv1", "fcmv1", [:], #"{"message":{}}"#.bytes),
        ("adm", "adm", [:], "{}".bytes), ("browser", "browser", [:], "{}".bytes), ("stream", "stream", [:], "{}".bytes),
    ])
    func `a body that its format allows is kept byte by byte`(
        name: String,
        format: String,
        headers: [String: String],
        body: [UInt8]
    ) throws {
        let request = try send(headers.merging(["ServiceBusNotification-Format": format]) { $1 }, body)
        #expect(request.message.body == body, "\(name)")
    }

    @Test(arguments: [
        ("apple", [:], "x", "Format 'apple' needs a JSON object: the body is not valid JSON"),
        ("gcm", [:], "[]", "Format 'gcm' needs a JSON object: the body is an array"),
        ("stream", [:], "\"x\"", "the body is a string, not a JSON object"),
        ("apple", [:], "", "The message has no body"),
        ("template", [:], "{\"a\":{}}", "property 'a' is an object"), ("windows", [:], "", "The message has no body"),
        ("windows", ["X-WNS-Type": "wns/toast"], "<toast>", "not well-formed XML"),
        ("windows", ["X-WNS-Type": "wns/toast"], "<tile/>", "the body's root element is 'tile'"),
        ("windows", ["X-WNS-Type": "toast"], "<toast/>", "not one of wns/toast, wns/tile, wns/badge, wns/raw"),
        ("windows", [:], "words", "The header X-WNS-Type is missing"),
        (
            "windows", ["X-WNS-Type": "wns/raw", "Content-Type": "application/xml; charset=utf-8"], "<toast/>",
            "X-WNS-Type is wns/raw but the content type is 'application/xml'"
        ),
        ("windows", ["X-WNS-Type": "WNS/Raw", "Content-Type": "TEXT/XML"], "x", "the content type is 'text/xml'"),
        ("windows", ["X-WNS-Type": "wns/raw", "Content-Type": "image/svg+xml"], "x", "is 'image/svg+xml'"),
        ("windows", [:], "<x/>", "the root element 'x' is not one of"),
        ("windowsphone", ["X-WindowsPhone-Target": "toast"], "words", "not well-formed XML"),
        ("windowsphone", ["X-WindowsPhone-Target": "toast"], "<toast/>", "the root element is 'toast'"),
    ])
    func `a body that its format does not allow is refused, saying what it wants`(
        format: String,
        headers: [String: String],
        body: String,
        detail: String
    ) throws {
        let error = try refusal(headers.merging(["ServiceBusNotification-Format": format]) { $1 }, body)
        #expect(error.status == 400 && error.detail.contains(detail), "\(error.detail)")
    }

    @Test func `a body above 64 KiB is refused with 413, one of that size is not`() throws {
        func body(_ count: Int) -> String { "{\"a\":\"" + String(repeating: "x", count: count - 8) + "\"}" }
        for format in ["template", "apple"] {
            let headers = ["ServiceBusNotification-Format": format]
            #expect(try send(headers, body(65_536).bytes).message.body.count == 65_536)
            #expect(try refusal(headers, body(65_537)).status == 413)
        }
    }

    private static let limits: [(MessageFormat, [String: String], Int?)] = [
        (.apple, [:], 4_096), (.apple, ["apns-push-type": "voip"], 5_120), (.gcm, [:], 4_096), (.fcmv1, [:], 4_096),
        (.windows, [:], 5_000), (.windowsphone, [:], 3_072), (.adm, [:], 6_144), (.browser, [:], 3_993),
        (.baidu, [:], nil), (.stream, [:], nil), (.template, [:], nil),
    ]

    @Test(arguments: limits)
    func `each push service has its own limit`(format: MessageFormat, headers: [String: String], limit: Int?) {
        #expect(NotificationSize.limit(for: format, headers: ForwardedHeaders(values: headers)) == limit)
    }

    // MARK: - Audiences

    @Test func `tags are an expression, blank ones everybody`() throws {
        let body = #"{"a":"b"}"#.bytes
        #expect(try send(["ServiceBusNotification-Tags": "a||b"], body).message.audience.expression?.text == "a||b")
        for blank in ["", " "] {
            #expect(try send(["ServiceBusNotification-Tags": blank], body).message.audience == .everybody)
        }
        let error = try refusal(["ServiceBusNotification-Tags": "a b"], #"{"a":"b"}"#)
        #expect(error.status == 400 && error.detail.contains("at character 2"))
    }

    @Test(arguments: [
        (".NET", "direct&api-version=2020-06"), ("JS", "api-version=2020-06&direct=true"),
        ("Python", "api-version=2015-01&direct"),
        ("Java", "api-version=2020-06&direct="), ("Ruby-m loses the query", ""), ("any case", "Direct"),
    ])
    func `a direct send is recognized by its query or its handle`(client: String, query: String) throws {
        let request = try send(
            ["ServiceBusNotification-Format": "gcm", "ServiceBusNotification-DeviceHandle": "AA"],
            "{}".bytes,
            query: query
        )
        #expect(request.message.audience == .handles([.handle("AA")]), "\(client)")
        #expect(!request.isTest && request.schedule == nil)
    }

    @Test func `JS sends a browser's keys beside its handle, and .NET all in one`() throws {
        let channel = BrowserPushChannel(endpoint: "https://x.example/1", p256dh: "k", auth: "a")
        let apart = [
            "ServiceBusNotification-Format": "browser", "ServiceBusNotification-DeviceHandle": channel.endpoint,
            "Auth": "a",
            "P256DH": "k",
        ]
        #expect(try send(apart, "{}".bytes, query: "direct").message.audience == .handles([.browser(channel)]))
        let together = [
            "ServiceBusNotification-Format": "browser",
            "ServiceBusNotification-DeviceHandle": #"{"endpoint":"https://x.example/1","p256dh":"k","auth":"a"}"#,
        ]
        guard case .handles(let handles) = try send(together, "{}".bytes).message.audience,
            case .browser(let browser) = handles.first
        else { throw Missing() }
        #expect(browser.endpoint == channel.endpoint && browser.auth == "a" && browser.p256dh == "k")
        let error = try refusal(apart.filter { $0.key != "Auth" }, "{}")
        #expect(error.detail.contains("P256DH and Auth"))
    }

    private struct Missing: Error {}

    @Test(arguments: [
        (["ServiceBusNotification-Format": "gcm"], "direct", "names no handle"),
        (["ServiceBusNotification-DeviceHandle": "AA"], "direct", "needs a native format"),
        (["ServiceBusNotification-Format": "gcm", "ServiceBusNotification-DeviceHandle": ""], "", "is empty"),
        (
            ["ServiceBusNotification-Format": "gcm", "ServiceBusNotification-DeviceHandle": "A A"], "",
            "contains a space"
        ),
        (
            [
                "ServiceBusNotification-Format": "gcm", "ServiceBusNotification-DeviceHandle": "AA",
                "ServiceBusNotification-Tags": "a",
            ], "",
            "goes to its handles alone"
        ),
        (
            ["ServiceBusNotification-Format": "browser", "ServiceBusNotification-DeviceHandle": "{}"], "",
            "lacks a text 'endpoint'"
        ),
    ])
    func `a direct send that cannot be one is refused`(headers: [String: String], query: String, detail: String) throws
    {
        let error = try refusal(headers, #"{"a":"b"}"#, query: query)
        #expect(error.status == 400 && error.detail.contains(detail), "\(error.detail)")
    }

    @Test func `a time is refused where messages are sent at once`() throws {
        let headers = [HeaderName.scheduleTime: "2030-01-01T00:00:00Z"]
        for kind in [SendRequest.Kind.messages, .batch] {
            let error = try refusal(headers, #"{"a":"b"}"#, kind: kind)
            #expect(error.status == 400 && error.detail.contains("/schedulednotifications"), "\(error.detail)")
        }
        #expect(try send([HeaderName.scheduleTime: ""], #"{"a":"b"}"#.bytes).schedule == nil)
    }

    @Test func `a batch is a direct send to all of its devices, in the notification's own charset`() throws {
        let body =
            "--b\r\nContent-Type: application/xml\r\nContent-Disposition: inline; name=notification\r\n\r\n<toast/>\r\n--b\r\nContent-Disposition: inline; name=devices\r\n\r\n[\"A\",\"A\"]\r\n--b--"
        let headers = ["ServiceBusNotification-Format": "windows", "Content-Type": "multipart/mixed; boundary=b"]
        let request = try send(headers, body.bytes, kind: .batch, query: "direct")
        #expect(request.message.audience == .handles([.handle("A"), .handle("A")]))
        #expect(request.message.headers.values == ["x-wns-type": "wns/toast"])
        #expect(try send(headers, body.bytes, kind: .batch, query: "").message == request.message)
        #expect(try refusal(["Content-Type": "multipart/mixed; boundary=b"], body, kind: .batch).status == 400)
    }

    // MARK: - Test and schedule

    @Test(arguments: [
        (".NET and Python", "test", true), ("JS", "api-version=1&test=true", true), ("none", "testing&x=test", false),
        ("off", "test=false", false), ("any case", "TEST=", true),
    ])
    func `a test send is recognized by its query`(client: String, query: String, isTest: Bool) throws {
        #expect(try send([:], #"{"a":"b"}"#.bytes, query: query).isTest == isTest, "\(client)")
    }

    @Test func `Python schedules with test, which is scheduling`() throws {
        let headers = ["ServiceBusNotification-ScheduleTime": "2030-01-02'T'03:04:05"]
        let request = try send(headers, #"{"a":"b"}"#.bytes, kind: .scheduledNotifications, query: "test")
        #expect(!request.isTest)
        #expect(request.schedule?.date == Date(timeIntervalSince1970: 1_893_553_445))
        #expect(try refusal([:], #"{"a":"b"}"#, kind: .scheduledNotifications).detail.contains("is missing"))
    }

    // MARK: - Repeats

    @Test func `a repeat is equal in format, tags, headers, handles, time and body`() throws {
        let body = #"{"a":"b"}"#.bytes
        let handle = ["ServiceBusNotification-Format": "apple", "ServiceBusNotification-DeviceHandle": "AA"]
        let time = ["ServiceBusNotification-ScheduleTime": "2030-01-02T03:04:05"]
        let requests = try [
            send([:], body), send([:], #"{"a":"c"}"#.bytes), send(["ServiceBusNotification-Tags": "a"], body),
            send(["ServiceBusNotification-Format": "apple"], body),
            send(["ServiceBusNotification-Format": "apple", "apns-topic": "t"], body), send(handle, body),
            send(handle.merging(["ServiceBusNotification-DeviceHandle": "BB"]) { $1 }, body),
            send([:], body, query: "test"),
            send(time, body, kind: .scheduledNotifications),
            send(["ServiceBusNotification-ScheduleTime": "2030-01-02T03:04:06"], body, kind: .scheduledNotifications),
        ]
        #expect(Set(requests.map(\.contentHash)).count == requests.count)
        let again = try send(["servicebusnotification-format": "APPLE", "X-Apns-Topic": "t"], body, query: "x=y")
        #expect(again.contentHash == requests[4].contentHash, "spelled otherwise, it is the same")
    }

    @Test func `Java's twelve-hour expiry leaves a repeat equal after its hour`() throws {
        let headers = [
            (name: "ServiceBusNotification-Format", value: "apple"),
            (name: "ServiceBusNotification-Apns-Expiry", value: "01/01/2030 01:00:00"),
        ]
        let hashes = try [Self.now, Self.now + 7_200].map { now in
            try SendRequest(.messages, headers: headers, query: "", body: "{}".bytes, now: now)
        }
        #expect(hashes[0].message.headers != hashes[1].message.headers)
        #expect(hashes[0].contentHash == hashes[1].contentHash)
    }

    @Test func `a key of an earlier version still holds`() throws {
        let request = try send(
            ["ServiceBusNotification-Tags": "World", "Idempotency-Key": "k"],
            #"{"title":"x"}"#.bytes
        )
        #expect(request.idempotencyKey == "k")
        // SHA-256 of each part behind its length in eight bytes, little-endian, as it was before other formats.
        #expect(
            Hexadecimal.encode(request.contentHash)
                == "639bbf6949a55904cd0a8b4dfda8e7d6f7b42bced8aac55fedf66a05b55cea7c"
        )
    }

    @Test(arguments: ["", String(repeating: "k", count: 257)])
    func `a key has 1 to 256 characters`(key: String) throws {
        #expect(try refusal(["Idempotency-Key": key], #"{"a":"b"}"#).detail.contains("1 to 256 characters"))
    }

    private static func utf16(_ text: String, bigEndian: Bool = false) -> [UInt8] {
        text.utf16.flatMap { unit in
            bigEndian ? [UInt8(unit >> 8), UInt8(unit & 0xFF)] : [UInt8(unit & 0xFF), UInt8(unit >> 8)]
        }
    }
}
