import Foundation
import HubProtocol
import Testing

@testable import HubStore

struct RegistrationRecordTests {
    private static let registrations: [Registration] = {
        let quotes = "\"\\\u{1}\n é 😀"
        let browser = BrowserPushChannel(endpoint: "https://x.example/\(quotes)", p256dh: "k", auth: "a", isText: true)
        return [
            registration(.apns, .handle("AABB")), registration(.gcm, .handle(quotes), isFcm: true),
            registration(.browser, .browser(browser)),
            registration(.wns, .handle("https://x.example"), tile: quotes, variables: ["a": quotes, "": ""]),
            registration(
                .apns,
                .handle("AABB"),
                template: RegistrationTemplate(
                    name: quotes,
                    body: "{\"\(quotes)\":\"$(a)\"}",
                    headers: ["apns-topic": quotes, "b": ""],
                    expiry: "$(e)",
                    priority: "5",
                    messageType: "1"
                )
            ),
            registration(.adm, .handle("a"), template: RegistrationTemplate(name: "", body: "")),
        ]
    }()

    private static func registration(
        _ platform: Platform,
        _ channel: PushChannel,
        tile: String? = nil,
        variables: [String: String] = [:],
        template: RegistrationTemplate? = nil,
        isFcm: Bool = false
    ) -> Registration {
        Registration(
            id: .random(),
            pushVariables: variables,
            platform: platform,
            pushChannel: channel,
            secondaryTileName: tile,
            template: template,
            isFcm: isFcm
        )
    }

    @Test func `the record of an earlier version is read`() throws {
        // As Foundation's encoder wrote it.
        let record = #"""
            {"channel":"https:\/\/x.example\/1","isFcm":true,"template":{"body":"<a b=\"\u00e9\">\/<\/a>","headers":\#
            {"X-WNS-Type":"wns\/toast"},"name":""},"tile":"t","variables":{"a":"1"}}
            """#
        let registration = Registration(
            id: .random(),
            etag: 0,
            tags: [try Tag("b")],
            platform: .wns,
            record: try RegistrationRecord(Data(record.utf8))
        )
        #expect(registration.pushChannel == .handle("https://x.example/1") && registration.isFcm)
        #expect(registration.template?.body == "<a b=\"é\">/</a>")
        #expect(registration.template?.headers == ["X-WNS-Type": "wns/toast"])
        #expect(registration.secondaryTileName == "t" && registration.pushVariables == ["a": "1"])
    }

    @Test func `records have the bytes that earlier versions stored`() {
        func text(_ registration: Registration) -> String {
            String(decoding: RegistrationRecord(registration).encoded, as: UTF8.self)
        }
        let template = RegistrationTemplate(name: "n", body: "{}", headers: ["b": "", "a": "/"], expiry: "$(e)")
        #expect(
            text(
                Self.registration(
                    .wns,
                    .handle("https://x"),
                    tile: "t",
                    variables: ["b": "\n", "a": ""],
                    template: template
                )
            )
                == #"{"channel":"https://x","variables":{"a":"","b":"\n"},"tile":"t","template":{"name":"n","#
                + #""body":"{}","expiry":"$(e)","headers":{"a":"/","b":""}}}"#
        )
        let browser = BrowserPushChannel(endpoint: "https://x", p256dh: "k", auth: "a", isText: true)
        #expect(
            text(Self.registration(.browser, .browser(browser), isFcm: true))
                == #"{"channel":{"endpoint":"https://x","p256dh":"k","auth":"a","isText":true},"isFcm":true}"#
        )
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"channel":1}"#, #"{"channel":{"endpoint":"x"}}"#, #"{"channel":"a","template":{"name":""}}"#,
        #"{"channel":"a","variables":{"b":1}}"#, #"{"channel":"a"#,
    ])
    func `data that is not a record is refused`(record: String) {
        #expect(throws: (any Error).self) { try RegistrationRecord(Data(record.utf8)) }
    }

    @Test(arguments: registrations)
    func `a registration's record is read as it was written`(registration: Registration) throws {
        let record = RegistrationRecord(registration).encoded
        let read = Registration(
            id: registration.id,
            etag: 0,
            tags: [],
            platform: registration.platform,
            record: try RegistrationRecord(record)
        )
        #expect(read == registration, "\(String(decoding: record, as: UTF8.self))")
    }

    @Test func `records with a common part are read as each alone would be`() throws {
        let texts = RegistrationTexts()
        for registration in Self.registrations + Self.registrations {
            var other = registration
            if case .handle = registration.pushChannel { other.pushChannel = .handle("CCDD") }
            for registration in [registration, other] {
                let record = try texts.record(RegistrationRecord(registration).encoded)
                #expect(record.channel == registration.pushChannel && record.template == registration.template)
                #expect(record.tile == registration.secondaryTileName && record.isFcm == registration.isFcm)
                #expect(record.variables ?? [:] == registration.pushVariables)
            }
        }
        #expect(throws: (any Error).self) { try texts.record(Data(#"{"channel":"a","channel":"b"}"#.utf8)) }
        #expect(try texts.tags("a,b") == texts.tags("a,b"))
        #expect(throws: (any Error).self) { try texts.tags("a,,b c") }
    }
}
