import FoundationEssentials
import Testing

@testable import HubProtocol

@Suite struct IdentifierTests {
    @Test(arguments: ["news", "Hub-1", "a.b_c", String(repeating: "h", count: 260)])
    func `a hub name is one URL segment`(text: String) throws {
        let name = try HubName(text)
        #expect(name.text == text)
        #expect(try name == HubName(text.uppercased()))
        #expect(try name.hashValue == HubName(text.uppercased()).hashValue)
    }

    @Test func `a hub name is read from a path as it was sent`() throws {
        #expect(try HubName(pathSegment: "%6Eews") == HubName("news"))
        #expect(throws: ProtocolError.self) { try HubName(pathSegment: "n%2Fews") }
        #expect(throws: ProtocolError.self) { try HubName(pathSegment: "100%") }
    }

    @Test(arguments: [
        "", "api", "API", "healthz", "ReadyZ", "metrics", "$Resources", "$resources", "a/b", "a b", ".", "..", "-a",
        "é", "a?",
        "a%20b", String(repeating: "h", count: 261),
    ])
    func `a name that could not be a hub's is refused`(text: String) {
        #expect { try HubName(text) } throws: { ($0 as? ProtocolError)?.status == 400 }
    }

    @Test func `installation ids are one where their tags are`() throws {
        #expect(try InstallationID("ABC") == InstallationID("abc"))
        #expect(try InstallationID("ABC").folded == "abc")
        #expect(try UserID("BOB") == UserID("bob"))
        #expect(try InstallationID("95e4cf2e-aaaa:=@#._é").text.hasSuffix("é"))
        for bad in ["", "a b", "a/b", "a}", String(repeating: "x", count: 121)] {
            #expect(throws: ProtocolError.self) { try InstallationID(bad) }
            #expect(throws: ProtocolError.self) { try UserID(bad) }
        }
    }

    @Test func `message ids are random, and those of other hubs are taken`() throws {
        let id = MessageID.random()
        #expect(id.text.utf8.count == 32)
        #expect(id != MessageID.random())
        #expect(try MessageID(id.text) == id)
        #expect(try MessageID("73622a22797441e4b434e8c2c14112ce-20181107001834-33331921-18").text.hasPrefix("736"))
        for bad in ["", "a/b", "a b", "é", String(repeating: "x", count: 257)] {
            #expect(throws: ProtocolError.self) { try MessageID(bad) }
        }
    }

    @Test func `ids are plain strings in JSON, and checked when read`() throws {
        let data = try JSONEncoder().encode([try InstallationID("a")])
        #expect(String(decoding: data, as: UTF8.self) == #"["a"]"#)
        #expect(throws: (any Error).self) { try JSONDecoder().decode([HubName].self, from: Data(#"["api"]"#.utf8)) }
        #expect(throws: (any Error).self) { try JSONDecoder().decode([MessageID].self, from: Data(#"["a b"]"#.utf8)) }
    }

    @Test func `a push channel secret is 32 random bytes, known by its digest`() throws {
        let secret = PushChannelSecret.random()
        #expect(secret.text.utf8.count == 43)
        #expect(secret.digest.count == 32)
        #expect(try PushChannelSecret(secret.text).matches(digest: secret.digest))
        #expect(!PushChannelSecret.random().matches(digest: secret.digest))
        #expect(!secret.matches(digest: []))
        for bad in [
            "", String(repeating: "a", count: 42), String(repeating: "a", count: 44), String(repeating: "+", count: 43),
        ] {
            #expect(throws: ProtocolError.self) { try PushChannelSecret(bad) }
        }
    }

    @Test func `manage grants everything, the others only themselves`() {
        #expect(AccessRights.manage.grants([.send, .listen]))
        #expect(AccessRights.listen.grants(.listen) && !AccessRights.listen.grants(.send))
        #expect(!AccessRights([.listen, .send]).grants(.manage))
        #expect(AccessRights([.send, .manage, .listen]).names == ["Listen", "Manage", "Send"])
        #expect(AccessRights(name: "SEND") == .send && AccessRights(name: "x") == nil)
    }

    @Test func `a generated rule has two keys of the form that every client takes`() {
        let rule = AccessRule.generated(name: AccessRule.defaultFullName, rights: [.listen, .manage, .send])
        #expect(rule.primaryKey != rule.secondaryKey)
        #expect(rule.primaryKey.utf8.count == 44 && rule.primaryKey.hasSuffix("=") && !rule.primaryKey.hasSuffix("=="))
    }

    @Test func `platforms and formats compare without case and keep their spelling`() {
        #expect(Platform(rawValue: "fcmV1") == .fcmv1)
        #expect(Platform(rawValue: "fcmV1").rawValue == "fcmV1")
        #expect(Platform(rawValue: "fcmV1").folded.rawValue == "fcmv1")
        #expect(Set(["fcmV1", "FCMV1", "fcmv1", "fcm"].map { Platform(rawValue: $0) }).count == 2)
        #expect([Platform(rawValue: "WNS"), .browser, Platform(rawValue: "APNS")].sorted() == [.apns, .browser, .wns])
        #expect(Platform(rawValue: "STREAM").isKnown && !Platform(rawValue: "fax").isKnown)
        #expect(MessageFormat(rawValue: "Apple").platform == .apns)
        #expect(MessageFormat.template.platform == nil && !MessageFormat(rawValue: "x").isKnown)
    }
}
