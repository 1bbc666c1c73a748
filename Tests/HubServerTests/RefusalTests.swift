import HubProtocol
import HubRouting
import HubStore
import NIOCore
import Testing

@testable import HubServer

/// Refusals as clients get them, whole: SDKs read the body, people search for its text (protocol §1.6, §2).
struct RefusalTests {
    static let tracking = "6f0b0c3e-52b4-4c38-9d1e-0f6f2f7f1a01_G3"

    private static func whole(_ status: Int, _ detail: String) -> String {
        """
        \(status)
        content-length: {length}
        content-type: application/xml; charset=utf-8
        date: {date}
        server: newswire
        trackingid: \(tracking)
        x-ms-correlation-request-id: {guid}

        <Error><Code>\(status)</Code><Detail>\(detail).TrackingId:\(tracking),TimeStamp:{now}</Detail></Error>
        """
    }

    private static let entry = """
        <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><GcmRegistrationDescription \
        xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><GcmRegistrationId>g\
        </GcmRegistrationId></GcmRegistrationDescription></content></entry>
        """

    @Test func `what the service was recorded to say is said alike`() async throws {
        try await TestHub.run(try Scratch()) { hub async throws in
            func send(_ method: String, _ path: String, _ headers: [String: String] = [:]) async throws -> String {
                try await hub.send(
                    method,
                    path,
                    as: headers["Authorization"] == nil ? hub.full : nil,
                    headers: headers.merging([HeaderName.trackingID: Self.tracking]) { $1 }
                ).whole
            }
            #expect(try await send("GET", "installations/none") == Self.whole(404, "Installation not found"))
            #expect(try await send("GET", "installations/a%20b") == Self.whole(404, "Installation not found"))
            // Recorded without any text.
            for path in ["registrations/1-1-1", "registrations/mine"] {
                for method in ["GET", "DELETE"] {
                    #expect(try await send(method, path) == Self.whole(404, "Registration not found"))
                }
            }
            let root = ["Authorization": hub.token(hub.root, resource: "http://h/")]
            #expect(
                try await send("DELETE", "/none", root)
                    == Self.whole(404, "No service is hosted at the specified address.")
            )
            let forged = hub.token(hub.full, key: "another")
            #expect(
                try await send("GET", "registrations", ["Authorization": forged])
                    == Self.whole(401, "InvalidSignature: The token has an invalid signature.")
            )
            #expect(
                try await send("GET", "registrations", ["Authorization": hub.token(hub.listen)])
                    == Self.whole(401, "Manage claim is required for this operation.")
            )
        }
    }

    @Test func `what is refused of a hub and of registrations is said with what to do`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            func put(_ path: String, _ headers: [String: String] = [:], _ body: String = Self.entry) async throws
                -> String
            {
                try await hub.send(
                    "PUT",
                    path,
                    as: headers["Authorization"] == nil ? hub.full : nil,
                    headers: headers.merging([HeaderName.trackingID: Self.tracking]) { $1 },
                    body
                ).whole
            }
            let root = ["Authorization": hub.token(hub.root, resource: "http://h/")]
            let conflict = Self.whole(
                409,
                "SubCode=40900. Conflict. The hub 'news' already exists; send If-Match: * to update it."
            )
            // A header without a value is none.
            for headers in [root, root.merging(["If-Match": ""]) { $1 }] {
                #expect(try await put("/news", headers, TestHub.entry()) == conflict)
            }

            _ = try await put("registrations/1-1-1")
            let mismatch = """
                If-Match is "7", and the registration's ETag is W/"1": it has been changed since; read it again, or \
                send If-Match: *
                """
            #expect(try await put("registrations/1-1-1", ["If-Match": "\"7\""]) == Self.whole(412, mismatch))
            let phone = #"{"installationId":"p","platform":"gcm","pushChannel":"g"}"#
            _ = try await put("installations/p", [:], phone)
            let page = try await hub.hub.registrations.page(.all, from: nil, limit: 9).registrations
            let part = try #require(page.first { $0.installation != nil }).registration.id
            let owned = """
                The registration '\(part)' is part of the installation 'p'; request a new registration id and use \
                that, or change the installation with PUT or PATCH of /installations/p.
                """
            #expect(try await put("registrations/\(part)", ["If-Match": "\"7\""]) == Self.whole(410, owned))
            #expect(try await hub.send("DELETE", "installations/p", as: hub.listen).status == 204)
            let ended = """
                The registration '\(part)' has expired, was removed with its installation, or has a push handle that \
                the push service refused; request a new registration id and use that.
                """
            for headers in [[:], ["If-Match": "*"], ["If-Match": "\"1\""]] {
                #expect(try await put("registrations/\(part)", headers) == Self.whole(410, ended))
            }
            let large = String(repeating: " ", count: Registration.maximumBytes + 1)
            let refused = try await put("registrations/1-1-1", [:], large)
            #expect(
                refused == Self.whole(413, "The request body is larger than \(Registration.maximumBytes) bytes.")
            )
        }
    }

    @Test func `a refusal without HTTP handlers has the headers of the others`() throws {
        let reply = try Reply(
            Array(ErrorReply(.badRequest("x"), trackingID: Self.tracking).wholeResponse.readableBytesView)
        )
        #expect(
            reply.whole == """
                400
                connection: close
                content-length: {length}
                content-type: application/xml; charset=utf-8
                trackingid: \(Self.tracking)
                x-ms-correlation-request-id: {guid}

                <Error><Code>400</Code><Detail>x.TrackingId:\(Self.tracking),TimeStamp:{now}</Detail></Error>
                """
        )
    }
}
