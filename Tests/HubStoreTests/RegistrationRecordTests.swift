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

    @Test(arguments: registrations)
    func `a registration's record is read as it was written`(registration: Registration) throws {
        let record = RegistrationRecord(registration).encoded
        let read = try Registration(
            id: registration.id,
            tags: "",
            platform: registration.platform,
            record: record
        )
        #expect(read == registration, "\(String(decoding: record, as: UTF8.self))")
    }
}
