import HubProtocol
import HubRouting
import Testing

@testable import HubServer

/// Installations as they travel (protocol §4).
struct InstallationRouteTests {
    private static func whole(_ status: Int, _ fields: String, _ body: String = "") -> String {
        """
        \(status)
        \(fields)
        date: {date}
        server: newswire
        trackingid: {guid}
        x-ms-correlation-request-id: {guid}

        \(body)
        """
    }

    /// The service's member order where it was recorded, the .NET SDK's elsewhere.
    private static let reply = #"""
        {"installationId":"Desk-1","pushChannel":"https://some.url/","pushChannelExpired":false,"platform":"wns",\#
        "expirationTime":"9999-12-31T23:59:59.9999999Z","tags":["tag1","World"],"pushVariables":{"var1":"value1"},\#
        "templates":{"Template Name":{"body":"<toast>$(a)</toast>","headers":{"X-WNS-Tag":"t","X-WNS-Type":"wns/toast"},\#
        "tags":["Loud","Template Name"]}},"secondaryTiles":{"tile":{"pushChannel":"https://some.url/tile",\#
        "pushChannelExpired":false,"tags":["Sports"],\#
        "templates":{"t":{"body":"<badge/>","headers":{"X-WNS-Type":"wns/badge"},"tags":["t"]}}}},"userId":"ann"}
        """#

    /// As .NET sends it.
    private static let sent = #"""
        {"installationId":"Desk-1","userId":"ann","pushChannel":"https://some.url/","pushChannelExpired":null,\#
        "platform":"wns","expirationTime":null,"tags":["tag1"],"pushVariables":{"var1":"value1"},\#
        "templates":{"Template Name":{"body":"<toast>$(a)</toast>","headers":{"X-WNS-Type":"wns/toast","X-WNS-Tag":"t"},\#
        "tags":["Loud"]}},"secondaryTiles":{"tile":{"pushChannel":"https://some.url/tile","pushChannelExpired":true,\#
        "tags":["Sports"],"templates":{"t":{"body":"<badge/>","headers":{"X-WNS-Type":"wns/badge"}}}}}}
        """#

    @Test func `an installation is put, patched, read and deleted with the service's own replies`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let path = "/news/installations/Desk-1?api-version=2020-06"
            let put = try await hub.send("PUT", path, as: hub.listen, Self.sent)
            let emptyXML = "content-length: {length}\ncontent-type: application/xml; charset=utf-8"
            #expect(
                put.whole
                    == Self.whole(
                        200,
                        emptyXML.replacing("\n", with: "\ncontent-location: https://h\(path)\n")
                    )
            )
            let patch = #"[{"op":"add","path":"/tags","value":"World"}]"#
            #expect(try await hub.send("PATCH", path, as: hub.listen, patch).whole == Self.whole(200, emptyXML))
            #expect(
                try await hub.send("GET", path, as: hub.listen).whole
                    == Self.whole(
                        200,
                        "content-length: {length}\ncontent-type: application/json; charset=utf-8",
                        Self.reply
                    )
            )
            for _ in 0..<2 {
                let deleted = try await hub.send("DELETE", path, as: hub.listen)
                #expect(deleted.status == 204 && deleted.body.isEmpty)
                #expect(deleted.headers["content-type"] == nil)
            }
        }
    }

    /// JS stores an object and patches with a string.
    @Test func `a browser's channel is read back as the object that was stored`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            func channel(_ number: Int) -> String {
                #"{"endpoint":"https://push.example/\#(number)","p256dh":"BA","auth":"AU"}"#
            }
            let body = #"{"installationId":"b","platform":"browser","pushChannel":\#(channel(1))}"#
            #expect(try await hub.send("PUT", "installations/b", as: hub.listen, body).status == 200)
            let value = channel(2).replacing("\"", with: "\\\"")
            let patch = #"[{"op":"replace","path":"/pushChannel","value":"\#(value)"}]"#
            #expect(try await hub.send("PATCH", "installations/b", as: hub.listen, patch).status == 200)
            let read = try await hub.send("GET", "installations/b", as: hub.listen)
            #expect(read.body.contains(#""pushChannel":\#(channel(2)),"#), "\(read.body)")
        }
    }
}
