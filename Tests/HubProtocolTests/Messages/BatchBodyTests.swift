import FoundationEssentials
import Testing

@testable import HubProtocol

@Suite struct BatchBodyTests {
    private static let notification = #"{"aps":{"alert":"x"}}"#

    private static func parts(
        _ boundary: String,
        header: String = "Content-Type",
        disposition: String = "inline; name=",
        separator: String = "\r\n",
        end: String = "--",
        devices: String = #"["AA","BB"]"#
    ) -> String {
        [
            "--\(boundary)", "\(header): application/json; charset=utf-8",
            "Content-Disposition: \(disposition)notification",
            "", notification, "--\(boundary)", "\(header): application/json",
            "Content-Disposition: \(disposition)devices",
            "", devices, end.isEmpty ? "" : "--\(boundary)\(end)",
        ].joined(separator: separator)
    }

    private static let shapes: [(String, String, String)] = [
        (
            ".NET and Java", "multipart/mixed; boundary=\"nh-batch-multipart-boundary\"",
            parts("nh-batch-multipart-boundary") + "\r\n"
        ),
        (
            "JS, blanks around =", "multipart/mixed; boundary = \"nh-boundary-1\"",
            parts("nh-boundary-1", header: "Content-type")
        ),
        ("Go-d, form data without an end", "multipart/form-data; boundary=8f3a", parts("8f3a", end: "")),
        ("docs, single quotes", "multipart/mixed; boundary=b", parts("b", devices: "['AA', 'BB']")),
        (
            "names in quotes", "Multipart/Mixed;BOUNDARY=b",
            parts("b", disposition: "form-data; name=").replacing("name=devices", with: "Name=\"devices\"")
        ),
        ("bare line feeds", "multipart/mixed; boundary=b", parts("b", separator: "\n")),
        ("text before and after", "multipart/mixed; boundary=b", "preamble\r\n--bb\r\n" + parts("b") + "\r\nepilogue"),
        (
            "blanks behind the boundary", "multipart/mixed; boundary=b",
            parts("b").replacing("--b\r\n", with: "--b \t\r\n")
        ),
        (
            "another line end behind bodies", "multipart/mixed; boundary=b",
            parts("b").replacing("\r\n--b", with: "\r\n\r\n--b")
        ),
        ("a header that goes on", "multipart/mixed; boundary=b", parts("b", disposition: "inline;\r\n\tname=")),
        (
            "the other order", "multipart/mixed; boundary=b",
            "--b\r\nContent-Disposition: inline; name=devices\r\n\r\n[\"AA\",\"BB\"]\r\n--b\r\ncontent-disposition: inline; name=notification\r\n\r\n\(notification)\r\n--b--"
        ),
    ]

    @Test(arguments: shapes.indices)
    func `every client's multipart body is read`(_ index: Int) throws {
        let (client, type, body) = Self.shapes[index]
        let batch = try BatchBody(Array(body.utf8), type: MediaType(type))
        #expect(String(decoding: batch.notification, as: UTF8.self).trimmed == Self.notification, "\(client)")
        #expect(batch.handles == [.handle("AA"), .handle("BB")], "\(client)")
    }

    @Test func `a part's body may hold what looks like a boundary`() throws {
        let text = "{\"a\":\"--b\",\r\n\"--bc\":1}"
        let body =
            "--b\r\nContent-Disposition: inline; name=notification\r\n\r\n\(text)\r\n--b\r\nContent-Disposition: inline; name=devices\r\n\r\n[\"AA\"]\r\n--b--"
        let batch = try BatchBody(Array(body.utf8), type: MediaType("multipart/mixed; boundary=b"))
        #expect(String(decoding: batch.notification, as: UTF8.self) == text)
    }

    @Test func `a browser's handles are its subscriptions`() throws {
        let channel = BrowserPushChannel(endpoint: "https://x.example/1", p256dh: "k", auth: "a")
        let devices = #"[{"endpoint":"https://x.example/1","p256dh":"k","auth":"a"}]"#
        let batch = try BatchBody(
            Array(Self.parts("b", devices: devices).utf8),
            type: MediaType("multipart/mixed; boundary=b")
        )
        #expect(batch.handles == [.browser(channel)])
    }

    @Test(arguments: [
        ("no multipart", "application/json", "{}", "not multipart/mixed"),
        ("no boundary", "multipart/mixed", parts("b"), "names no boundary"),
        ("another boundary", "multipart/mixed; boundary=c", parts("b"), "'--c'"),
        ("nothing", "multipart/mixed; boundary=b", "", "'--b'"),
        (
            "no devices", "multipart/mixed; boundary=b", parts("b").replacing("name=devices", with: "name=x"),
            "no part with"
        ),
        (
            "two notifications", "multipart/mixed; boundary=b",
            parts("b").replacing("name=devices", with: "name=notification"), "2 parts with"
        ),
        (
            "devices are an object", "multipart/mixed; boundary=b", parts("b", devices: "{}"),
            "The devices are an object"
        ),
        ("devices are no JSON", "multipart/mixed; boundary=b", parts("b", devices: "AA,BB"), "cannot be read"),
        ("no handle", "multipart/mixed; boundary=b", parts("b", devices: "[]"), "There is no device"),
        ("empty handle", "multipart/mixed; boundary=b", parts("b", devices: #"["AA",""]"#), "device 2 is empty"),
        ("number", "multipart/mixed; boundary=b", parts("b", devices: "[1]"), "device 1 is a number"),
        ("blank in a handle", "multipart/mixed; boundary=b", parts("b", devices: #"["A A"]"#), "contains a space"),
        ("no headers", "multipart/mixed; boundary=b", "--b\r\n{}\r\n--b--", "its headers"),
        ("headers without end", "multipart/mixed; boundary=b", "--b\r\nContent-Type: x\r\n--b--", "no empty line"),
        (
            "many parts", "multipart/mixed; boundary=b",
            String(repeating: "--b\r\nA: b\r\n\r\n\r\n", count: 9) + "--b--", "more than 8 parts"
        ),
    ])
    func `what is wrong with a batch is said`(name: String, type: String, body: String, detail: String) {
        #expect {
            try BatchBody(Array(body.utf8), type: MediaType(type))
        } throws: { error in
            let refusal = error as? ProtocolError
            return refusal?.status == 400 && refusal?.detail.contains(detail) == true
        }
    }

    @Test func `a batch has at most a thousand handles`() throws {
        func devices(_ count: Int) -> String { "[" + (0..<count).map { "\"A\($0)\"" }.joined(separator: ",") + "]" }
        let type = MediaType("multipart/mixed; boundary=b")
        #expect(try BatchBody(Array(Self.parts("b", devices: devices(1_000)).utf8), type: type).handles.count == 1_000)
        #expect(
            throws: ProtocolError.badRequest("A batch has at most 1000 devices, not 1001: send several batches.")
        ) {
            try BatchBody(Array(Self.parts("b", devices: devices(1_001)).utf8), type: type)
        }
    }

    @Test func `a batch of the longest handles is within the limit, its notification within that of any message`()
        throws
    {
        let handle = "https://x.notify.windows.com/?token=" + String(repeating: "A", count: 1_024)
        let devices = "[" + Array(repeating: "\"\(handle)\"", count: 1_000).joined(separator: ",") + "]"
        let body = Self.parts("b", devices: devices)
        #expect(body.utf8.count < BatchBody.maximumBytes)
        let large = "{\"a\":\"" + String(repeating: "x", count: Message.maximumBytes) + "\"}"
        #expect(throws: ProtocolError.tooLarge("The notification is larger than 65536 bytes.")) {
            try BatchBody(
                Array(Self.parts("b").replacing(Self.notification, with: large).utf8),
                type: MediaType("multipart/mixed; boundary=b")
            )
        }
    }

    @Test func `any bytes are refused or read, and nothing else`() {
        var generator = RepeatableGenerator(state: 7)
        let alphabet = Array("--b\r\n:;= \"[]',".utf8) + Array("Content-Disposition: inline; name=devices".utf8)
        for _ in 0..<3_000 {
            let bytes = (0..<Int.random(in: 0..<120, using: &generator)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
            }
            _ = try? BatchBody(Array("--b\r\n".utf8) + bytes, type: MediaType("multipart/mixed; boundary=b"))
        }
    }
}

/// splitmix64: the same bytes at every run.
private struct RepeatableGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
