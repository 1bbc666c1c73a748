import HubProtocol
import OutboundHTTP
import Testing

@testable import PushEmulator

@Suite struct WnsAnswersTests {
    private typealias Header = (name: String, value: String)

    @Test func anAcceptedNotificationIsAnsweredWithItsStatus() async throws {
        try await Emulation.run { emulation in
            let answer = try await emulation.sendWns(
                "phone",
                [
                    ("x-wns-type", "wns/tile"), ("content-type", "text/xml; charset=utf-8"), ("x-wns-ttl", "60"),
                    ("x-wns-cache-policy", "no-cache"), ("x-wns-tag", "tag1"), ("x-wns-requestforstatus", "true"),
                    ("ms-cv", "abc.1"),
                ]
            )
            #expect(answer.status == 200)
            #expect(answer.headers["x-wns-status"] == "received")
            #expect(answer.headers["x-wns-deviceconnectionstatus"] == "connected")
            #expect(answer.headers["x-wns-debug-trace"] != nil)
            #expect(answer.headers["ms-cv"] == "abc.1")
            let inbox = emulation.emulator.inbox(of: emulation.emulator.channelURI("phone"))
            #expect(inbox.map(\.messageID) == [answer.headers["x-wns-msg-id"]])
        }
    }

    @Test(
        arguments: [
            ([("content-type", "text/xml")], 400), ([("x-wns-type", "wns/shout"), ("content-type", "text/xml")], 400),
            ([("x-wns-type", "wns/raw"), ("content-type", "text/xml")], 400),
            ([("x-wns-type", "wns/raw"), ("content-type", "application/octet-stream")], 200),
            ([("x-wns-type", "wns/badge"), ("content-type", "application/octet-stream")], 400),
            ([("x-wns-type", "wns/badge"), ("content-type", "text/xml"), ("x-wns-cache-policy", "keep")], 400),
            ([("x-wns-type", "wns/badge"), ("content-type", "text/xml"), ("x-wns-ttl", "1.5")], 400),
            ([("x-wns-type", "wns/badge"), ("content-type", "text/xml"), ("x-wns-tag", "a-b")], 400),
            ([("x-wns-type", "wns/badge"), ("content-type", "text/xml"), ("x-wns-tag", "seventeenletters1")], 400),
        ] as [([(String, String)], Int)]
    ) func headersAreChecked(headers: [(String, String)], status: Int) async throws {
        try await Emulation.run { emulation in
            let answer = try await emulation.sendWns("phone", headers)
            #expect(answer.status == status)
            #expect((answer.headers["x-wns-error-description"] == nil) == (status == 200))
        }
    }

    @Test(arguments: [
        (#"<?xml version="1.0" encoding="utf-8"?><toast><visual/></toast>"#, 200), ("\u{FEFF}<toast>é</toast>", 200),
        ("<?xml version='1.0'?>\n<toast/>", 200), (#"<?xml version="1.0" encoding="utf-16"?><toast/>"#, 400),
        ("<toast>", 400), ("<toast>a & b</toast>", 400), ("<toast/><toast/>", 400), ("<é></ê>", 400), ("{}", 400),
    ])
    func aPayloadOfANotificationIsXML(body: String, status: Int) async throws {
        try await Emulation.run { emulation in
            for type in ["toast", "tile", "badge"] {
                let headers: [(name: String, value: String)] = [
                    ("x-wns-type", "wns/\(type)"), ("content-type", "text/xml"),
                ]
                let answer = try await emulation.sendWns("phone", headers, Array(body.utf8))
                #expect(answer.status == status, "\(body)")
                #expect((answer.headers["x-wns-error-description"] == nil) == (status == 200))
            }
            let raw: [(name: String, value: String)] = [
                ("x-wns-type", "wns/raw"), ("content-type", "application/octet-stream"),
            ]
            let answer = try await emulation.sendWns("phone", raw, Array(body.utf8))
            #expect(answer.status == 200)
            let latin = try await emulation.sendWns(
                "phone",
                [("x-wns-type", "wns/toast"), ("content-type", "text/xml")],
                Array("<toast>".utf8) + [0xE9] + Array("</toast>".utf8)
            )
            #expect(latin.status == 400)
        }
    }

    @Test func aPayloadIsAtMost5000BytesAndNotEmpty() async throws {
        try await Emulation.run { emulation in
            let raw: [(name: String, value: String)] = [
                ("x-wns-type", "wns/raw"), ("content-type", "application/octet-stream"),
            ]
            for (size, status) in [(0, 400), (1, 200), (5_000, 200), (5_001, 413)] {
                let answer = try await emulation.sendWns("phone", raw, [UInt8](repeating: 0xFF, count: size))
                #expect(answer.status == status)
            }
        }
    }

    @Test func aBadAddressOrTokenIsRefused() async throws {
        try await Emulation.run { emulation in
            #expect(try await emulation.sendWns("").status == 404)
            #expect(try await emulation.sendWns("a/b").status == 404)
            let url = emulation.emulator.channelURI("phone")
            #expect(try await emulation.send("GET", url).status == 405)
            let answer = try await emulation.send("POST", url, [("authorization", "Bearer x")], [1])
            #expect(answer.status == 401)
            #expect(answer.headers["www-authenticate"]?.hasPrefix("Bearer") == true)
        }
    }
}
