import Foundation
import HubProtocol
import HubRouting
import Testing

@testable import HubServer

/// Sends as each client library of the protocol makes them (protocol document §5).
struct ClientSendTests {
    struct Send: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let path: String
        let headers: [String: String]
        let body: String
        /// What the hub has understood.
        var format: MessageFormat?
        var tags: String?
        var handles: Int?
        var forwarded: [String: String]?
    }

    private static let json = "application/json;charset=utf-8"
    private static let apple = #"{"aps":{"alert":"Grüße"}}"#
    private static let toast =
        #"<toast><visual><binding template="ToastText01"><text id="1">é</text></binding></visual></toast>"#
    private static let tile =
        #"<wp:Notification xmlns:wp="WPNotification"><wp:Tile><wp:Title>x</wp:Title></wp:Tile></wp:Notification>"#

    private static func batch(
        _ boundary: String,
        header: String = "Content-Type",
        notification: String = apple,
        end: String = "--"
    ) -> String {
        [
            "--\(boundary)", "\(header): application/json; charset=utf-8",
            "Content-Disposition: inline; name=notification", "", notification, "--\(boundary)",
            "\(header): application/json; charset=utf-8", "Content-Disposition: inline; name=devices", "",
            #"["AA","BB"]"#, end.isEmpty ? "" : "--\(boundary)\(end)",
        ].joined(separator: "\r\n")
    }

    static let sends = [
        Send(
            testDescription: ".NET: a broadcast to apple, its expiry in the invariant culture",
            path: "messages/?api-version=2020-06",
            headers: [
                "Content-Type": json, "ServiceBusNotification-Format": "apple", "TrackingId": "t-1",
                "X-Apns-Priority": "5", "ServiceBusNotification-Apns-Expiry": "03/18/2030 17:46:40",
                "User-Agent": "NHub/2020-06 (api-origin=DotNetSdk;os=Linux;os-version=5)",
            ],
            body: apple,
            format: .apple,
            forwarded: ["apns-priority": "5", "apns-expiration": "1900086400"]
        ),
        Send(
            testDescription: ".NET: a list of tags, joined without blanks",
            path: "messages/?api-version=2020-06",
            headers: [
                "Content-Type": json, "ServiceBusNotification-Format": "template",
                "ServiceBusNotification-Tags": "a||b",
            ],
            body: #"{"message":"x"}"#,
            tags: "a||b"
        ),
        Send(
            testDescription: ".NET: a toast that says utf-16 and is UTF-8",
            path: "messages/?api-version=2020-06",
            headers: [
                "Content-Type": "application/xml", "ServiceBusNotification-Format": "windows",
                "X-WNS-Type": "wns/toast",
            ],
            body: #"<?xml version="1.0" encoding="utf-16"?>"# + toast,
            format: .windows,
            forwarded: ["x-wns-type": "wns/toast"]
        ),
        Send(
            testDescription: ".NET: Baidu as a form",
            path: "messages/?api-version=2020-06",
            headers: [
                "Content-Type": "application/x-www-form-urlencoded", "ServiceBusNotification-Format": "baidu",
                "X-Baidu-Message-Type": "1",
            ],
            body: #"{"title":"x","description":"y"}"#,
            format: .baidu,
            forwarded: ["x-baidu-message-type": "1"]
        ),
        Send(
            testDescription: ".NET: a tile of Windows Phone, called token",
            path: "messages/?api-version=2020-06",
            headers: [
                "Content-Type": "application/xml", "ServiceBusNotification-Format": "windowsphone",
                "X-WindowsPhone-Target": "token", "X-NotificationClass": "1",
            ],
            body: tile,
            format: .windowsphone,
            forwarded: ["x-windowsphone-target": "token", "x-notificationclass": "1"]
        ),
        Send(
            testDescription: ".NET: a direct send, the flag before the version",
            path: "messages/?direct&api-version=2020-06",
            headers: [
                "Content-Type": json, "ServiceBusNotification-Format": "gcm",
                "ServiceBusNotification-DeviceHandle": "AA",
            ],
            body: #"{"data":{"message":"x"}}"#,
            format: .gcm,
            handles: 1
        ),
        Send(
            testDescription: ".NET: a batch",
            path: "messages/$batch?direct&api-version=2020-06",
            headers: [
                "Content-Type": #"multipart/mixed; boundary="nh-batch-multipart-boundary""#,
                "ServiceBusNotification-Format": "apple",
            ],
            body: batch("nh-batch-multipart-boundary") + "\r\n",
            format: .apple,
            handles: 2
        ),
        Send(
            testDescription: "Java: apple with its own expiry of twelve hours",
            path: "messages/?api-version=2020-06",
            headers: [
                "Content-Type": json, "ServiceBusNotification-Format": "apple", "ServiceBusNotification-Tags": "a || b",
                "ServiceBusNotification-Apns-Expiry": "03/18/2030 05:46:40",
                "User-Agent": "NHub/2020-06 (api-origin=JavaSDK;os=Linux;os-version=5)",
            ],
            body: apple,
            format: .apple,
            tags: "a || b",
            forwarded: ["apns-expiration": "1900043200"]
        ),
        Send(
            testDescription: "Java: a toast without its kind",
            path: "messages/?api-version=2020-06",
            headers: ["Content-Type": "application/xml;charset=utf-8", "ServiceBusNotification-Format": "windows"],
            body: toast,
            format: .windows,
            forwarded: ["x-wns-type": "wns/toast"]
        ),
        Send(
            testDescription: "Java: a batch",
            path: "messages/$batch?direct&api-version=2020-06",
            headers: [
                "Content-Type": #"multipart/mixed; boundary="nh-batch-multipart-boundary""#,
                "ServiceBusNotification-Format": "gcm",
            ],
            body: batch("nh-batch-multipart-boundary"),
            format: .gcm,
            handles: 2
        ),
        Send(
            testDescription: "JS: fcmv1 with an expression",
            path: "messages/?api-version=2020-06",
            headers: [
                "Content-Type": json, "ServiceBusNotification-Format": "fcmv1", "x-ms-version": "2020-06",
                "ServiceBusNotification-Tags": "a && !b",
            ],
            body: #"{"message":{"notification":{"title":"x"}}}"#,
            format: .fcmv1,
            tags: "a && !b"
        ),
        Send(
            testDescription: "JS: a direct send to apple with headers of its own",
            path: "messages/?api-version=2020-06&direct=true",
            headers: [
                "Content-Type": json, "ServiceBusNotification-Format": "apple",
                "ServiceBusNotification-DeviceHandle": "00FC13ADFF78", "apns-push-type": "alert", "apns-priority": "10",
            ],
            body: apple,
            format: .apple,
            handles: 1,
            forwarded: ["apns-push-type": "alert", "apns-priority": "10"]
        ),
        Send(
            testDescription: "JS: a direct send to a browser, its keys in headers",
            path: "messages/?api-version=2020-06&direct=true",
            headers: [
                "Content-Type": json, "ServiceBusNotification-Format": "browser",
                "ServiceBusNotification-DeviceHandle": "https://x.example/1", "Auth": "a", "P256DH": "k",
            ],
            body: #"{"title":"x"}"#,
            format: .browser,
            handles: 1
        ),
        Send(
            testDescription: "JS: a batch with blanks around the equals sign",
            path: "messages/$batch?api-version=2020-06&direct=true",
            headers: [
                "Content-Type": #"multipart/mixed; boundary = "nh-boundary-6b2f""#,
                "ServiceBusNotification-Format": "apple",
            ],
            body: batch("nh-boundary-6b2f", header: "Content-type"),
            format: .apple,
            handles: 2
        ),
        Send(
            testDescription: "JS: a raw notification of Windows",
            path: "messages/?api-version=2020-06",
            headers: [
                "Content-Type": "application/octet-stream", "ServiceBusNotification-Format": "windows",
                "X-WNS-Type": "wns/raw",
            ],
            body: "7",
            format: .windows,
            forwarded: ["x-wns-type": "wns/raw"]
        ),
        Send(
            testDescription: "azure-sb: apple, its expiry in ISO",
            path: "messages/?api-version=2013-10",
            headers: [
                "Content-Type": json, "ServiceBusNotification-Format": "apple",
                "ServiceBusNotification-Apns-Expiry": "2030-03-18T17:46:40.000Z",
            ],
            body: apple,
            format: .apple,
            forwarded: ["apns-expiration": "1900086400"]
        ),
        Send(
            testDescription: "Python: a charset in quotes",
            path: "messages/?api-version=2015-01",
            headers: [
                "Content-Type": #"application/json;charset="utf-8""#, "ServiceBusNotification-Format": "gcm",
                "ServiceBusNotification-Tags": "a || b",
            ],
            body: #"{"data":{}}"#,
            format: .gcm,
            tags: "a || b"
        ),
        Send(
            testDescription: "Python: a tile of Windows Phone, called tile",
            path: "messages/?api-version=2015-01",
            headers: [
                "Content-Type": #"text/xml;charset="utf-8""#, "ServiceBusNotification-Format": "windowsphone",
                "X-WindowsPhone-Target": "tile", "X-NotificationClass": "1",
            ],
            body: tile,
            format: .windowsphone,
            forwarded: ["x-windowsphone-target": "tile", "x-notificationclass": "1"]
        ),
        Send(
            testDescription: "PHP: gcm with tags",
            path: "messages/?api-version=2013-10",
            headers: [
                "Content-Type": json, "ServiceBusNotification-Format": "gcm",
                "ServiceBusNotification-Tags": "a || b || c",
            ],
            body: #"{"data":{"message":"x"}}"#,
            format: .gcm,
            tags: "a || b || c"
        ),
        Send(
            testDescription: "PHP-w: a template",
            path: "messages/?api-version=2013-08",
            headers: ["Content-Type": json, "ServiceBusNotification-Format": "template", "x-ms-version": "2013-08"],
            body: #"{"message":"x"}"#
        ),
        Send(
            testDescription: "Go-d: headers in Go's case",
            path: "messages?api-version=2015-01",
            headers: [
                "Content-Type": json, "Servicebusnotification-Format": "apple", "Servicebusnotification-Tags": "a",
                "X-Apns-Push-Type": "alert",
            ],
            body: apple,
            format: .apple,
            tags: "a",
            forwarded: ["apns-push-type": "alert"]
        ),
        Send(
            testDescription: "Go-d: a direct send with bytes of its own in X-Apns-Expiration",
            path: "messages?api-version=2015-01&direct=true",
            headers: [
                "Content-Type": json, "Servicebusnotification-Format": "apple",
                "Servicebusnotification-Devicehandle": "AA", "X-Apns-Expiration": "\u{10FFFF}\u{FFFD}",
            ],
            body: apple,
            format: .apple,
            handles: 1
        ),
        Send(
            testDescription: "Go-d: a batch as form data, without an end",
            path: "messages/$batch?api-version=2015-01&direct=true",
            headers: [
                "Content-Type": "multipart/form-data; boundary=8a2e5f", "Servicebusnotification-Format": "apple",
            ],
            body: batch("8a2e5f", end: ""),
            format: .apple,
            handles: 2
        ),
        Send(
            testDescription: "Go-m: tags without blanks",
            path: "messages?api-version=2020-06",
            headers: [
                "Content-Type": json, "ServiceBusNotification-Format": "gcm", "ServiceBusNotification-Tags": "a||b",
            ],
            body: #"{"data":{}}"#,
            format: .gcm,
            tags: "a||b"
        ),
        Send(
            testDescription: "Ruby-m: no query at all",
            path: "messages",
            headers: [
                "Content-Type": json, "ServiceBusNotification-Format": "apple", "ServiceBusNotification-Tags": "a||b",
            ],
            body: apple,
            format: .apple,
            tags: "a||b"
        ),
        Send(
            testDescription: "Ruby-m: a direct send that has lost its query",
            path: "messages",
            headers: [
                "Content-Type": json, "ServiceBusNotification-Format": "apple",
                "ServiceBusNotification-DeviceHandle": "AA",
            ],
            body: apple,
            format: .apple,
            handles: 1
        ),
        Send(
            testDescription: "the tutorial's Android sender: a template over HTTP by hand",
            path: "messages/?api-version=2015-01",
            headers: ["Content-Type": "application/json;charset=utf-8", "ServiceBusNotification-Format": "template"],
            body: #"{"messageParam":"Breaking World News!"}"#
        ),
        Send(
            testDescription: "the tutorial's iOS sender: a segment in upper case, an empty list of tags",
            path: "Messages/?api-version=2015-01",
            headers: [
                "Content-Type": json, "ServiceBusNotification-Format": "template", "ServiceBusNotification-Tags": "",
            ],
            body: #"{"messageParam":"x"}"#
        ),
        Send(
            testDescription: "a library that escapes the dollar sign",
            path: "messages/%24batch?direct",
            headers: ["Content-Type": "multipart/mixed; boundary=b", "ServiceBusNotification-Format": "apple"],
            body: batch("b"),
            format: .apple,
            handles: 2
        ),
    ]

    @Test func `every client's send is answered with 201, an address and what it meant`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            for send in Self.sends {
                let reply = try await hub.send("POST", send.path, as: hub.full, headers: send.headers, send.body)
                #expect(reply.status == 201 && reply.body.isEmpty, "\(send): \(reply.body)")
                #expect(reply.headers["x-ms-correlation-request-id"]?.count == 36, "\(send)")
                if let own = send.headers["TrackingId"] { #expect(reply.headers["trackingid"] == own) }
                let location = try #require(reply.headers["location"], "\(send)")
                // One client takes the id out of the address by its place (§0.3).
                let segments = location.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
                #expect(segments.dropLast() == ["https:", "", "h", "news", "messages"], "\(send): \(location)")
                #expect(location.drop { $0 != "?" } == send.path.drop { $0 != "?" }, "\(send)")
                let report = try await hub.report(MessageID(String(segments.last ?? "")))
                #expect(report.format == send.format, "\(send)")
                #expect(report.tags == send.tags && report.handles == send.handles, "\(send)")
                #expect(report.headers == send.forwarded, "\(send)")
            }
        }
    }

    @Test func `a listener cannot send, and learns which right that needs`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let calls = [
                ("POST", "messages"), ("POST", "messages/$batch"), ("POST", "schedulednotifications"),
                ("DELETE", "schedulednotifications/x"), ("GET", "messages/x"),
            ]
            for (method, path) in calls {
                let reply = try await hub.send(method, path, as: hub.listen, method == "POST" ? "{}" : "")
                #expect(reply.status == 401, "\(method) \(path)")
                #expect(reply.error?.detail.hasPrefix("Send claim is required") == true)
            }
            let feedback = try await hub.send("GET", "feedbackcontainer", as: hub.listen)
            #expect(feedback.error?.detail.hasPrefix("Manage claim is required") == true)
            #expect(hub.head == 0)
        }
    }

    @Test func `a repeat of any kind of send is answered as the first was`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let kinds: [(path: String, headers: [String: String], body: String)] = [
                ("messages", [:], #"{"a":"b"}"#), ("messages", ["ServiceBusNotification-Format": "apple"], Self.apple),
                (
                    "messages?direct",
                    ["ServiceBusNotification-Format": "apple", "ServiceBusNotification-DeviceHandle": "AA"], Self.apple
                ),
                (
                    "messages/$batch",
                    ["ServiceBusNotification-Format": "apple", "Content-Type": "multipart/mixed; boundary=b"],
                    Self.batch("b")
                ),
                ("messages?test", ["ServiceBusNotification-Format": "apple"], Self.apple),
                (
                    "schedulednotifications", ["ServiceBusNotification-ScheduleTime": "2030-03-18T00:00:00"],
                    #"{"a":"b"}"#
                ),
            ]
            for (number, kind) in kinds.enumerated() {
                func send(_ body: String) async throws -> Reply {
                    let headers = kind.headers.merging(["Idempotency-Key": "k\(number)"]) { $1 }
                    return try await hub.send("POST", kind.path, as: hub.full, headers: headers, body)
                }
                let first = try await send(kind.body)
                let head = hub.head
                let again = try await send(kind.body)
                #expect(first.status == 201 && again.status == 201, "\(kind.path): \(first.body)")
                #expect(again.headers["location"] == first.headers["location"], "\(kind.path)")
                #expect(again.body == first.body, "\(kind.path)")
                #expect(hub.head == head, "\(kind.path): nothing more was sent")
                #expect(
                    try await send(kind.body.replacing("Grüße", with: "x").replacing("b\"}", with: "c\"}")).status
                        == 422
                )
            }
        }
    }
}
