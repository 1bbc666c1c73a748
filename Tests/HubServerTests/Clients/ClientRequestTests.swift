import Certificates
import Crypto
import Foundation
import HubProtocol
import HubRouting
import HubStore
import NetworkAddresses
import StreamProbe
import Testing

@testable import HubServer

/// Every request that the client libraries send, byte for byte but for names, keys and times.
struct ClientRequestTests {
    private static let token = String(repeating: "12", count: 32)
    private static let tag = "tag1"

    /// One after the other: four hundred at once would leave the other tests no time.
    @Test(SharedHub(), .serialized, arguments: try RecordedRequest.all)
    func `a client's request is answered as the client needs it`(_ recorded: RecordedRequest) async throws {
        let request = recorded.request
        let hub = try #require(SharedHub.current)
        let session = try await Self.session(for: recorded, hub)
        let expires = Int64(hub.clock.now.timeIntervalSince1970) + 3_600
        let reply = try await session.exchange(request, expires: expires, port: hub.port)
        #expect(reply.status == request.status, "\(reply.body)")
        Self.check(reply, to: request)
    }

    /// What clients read in a reply beside its status.
    private static func check(_ reply: Reply, to request: ClientRequest) {
        #expect(reply.headers["trackingid"]?.isEmpty == false)
        #expect(reply.headers["x-ms-correlation-request-id"]?.isEmpty == false)
        if reply.status >= 400 {
            #expect(reply.body.hasPrefix("<Error><Code>\(reply.status)</Code><Detail>"))
            return
        }
        switch request.operation {
        case "registration: new id", "send: template", "send: native", "send: direct", "send: batch", "schedule":
            let location = reply.headers["location"] ?? ""
            #expect(location.hasPrefix("https://h/"), "\(location)")
            #expect(location.prefix { $0 != "?" }.split(separator: "/").count == 5, "\(location)")
            #expect(reply.body.isEmpty)
        case "registration: create", "registration: create or update", "registration: update", "registration: read":
            // A client that filters a single registration gets that registration.
            #expect(reply.body.hasPrefix("<entry "), "\(reply.body)")
            #expect(reply.headers["etag"]?.hasPrefix("W/\"") == true)
        case "registrations: list", "registrations: list by tag", "registrations: list by handle":
            #expect(reply.body.hasPrefix("<feed "), "\(reply.body)")
        case "send: test": #expect(reply.body.hasPrefix("<NotificationOutcome "), "\(reply.body)")
        case "telemetry of a message": #expect(reply.body.hasPrefix("<NotificationDetails "), "\(reply.body)")
        case "installation: read": #expect(reply.body.hasPrefix("{\"installationId\":"), "\(reply.body)")
        default: break
        }
    }

    // MARK: - What a request finds

    /// Makes what the request is about, under names that no other request has.
    private static func session(for recorded: RecordedRequest, _ hub: TestHub) async throws -> ClientSession {
        let (request, number) = (recorded.request, recorded.number)
        let isMissing = request.status == 404
        var values = [
            "hub": "news", "host": "h", "hostname": "h", "tag": tag, "token": token, "id": "\(number)-77-1",
            "installation": "device-\(number)", "newhub": "made\(number)", "notification": "0123456789abcdef",
            // As .NET and Java write times in English: MM/dd/yyyy hh:mm:ss, an hour after the test's clock.
            "apnsexpiry": "03/17/2030 06:46:40",
        ]
        if request.operation == "hub: create or update" {
            let vapid = P256.Signing.PrivateKey()
            values["apnskey"] = EmulatedHub.apnsKey
            values["fcmkey"] = try EmulatedHub.fcmKey.get()
            values["vapidpublic"] = Base64URL.encode([UInt8](vapid.publicKey.x963Representation))
            values["vapidprivate"] = Base64URL.encode([UInt8](vapid.rawRepresentation))
        }
        if isMissing {
            values["newhub"] = "none\(number)"
        } else {
            try await prepare(recorded, &values, hub)
        }
        return ClientSession(values: values, keys: ["rule": hub.full, "nsrule": hub.root])
    }

    private static func prepare(
        _ recorded: RecordedRequest,
        _ values: inout [String: String],
        _ hub: TestHub
    ) async throws {
        let (request, number) = (recorded.request, recorded.number)
        switch request.operation {
        case "registration: read", "registration: update", "registration: delete":
            // Its ETag is the number of its writes: what the client has read.
            let header = request.headers.first { $0.lowercased().hasPrefix("if-match:") } ?? ""
            let etag = request.status == 412 ? 2 : Int(header.filter(\.isNumber)) ?? 1
            let id = try RegistrationID(values["id"] ?? "")
            for _ in 0..<etag { try await put(id, hub) }
        case "registrations: list", "registrations: list by tag", "registrations: list by handle":
            for offset in 0..<3 { try await put(try RegistrationID("\(number)-88-\(offset)"), hub) }
            guard request.target.contains("{continuation}") else { return }
            let first = request.target.replacing("{hub}", with: "news").replacing("{tag}", with: tag)
                .replacing("{token}", with: token).split(separator: "&")
                .filter { !$0.lowercased().contains("continuationtoken") && !$0.lowercased().contains("top=") }
            let target = first.joined(separator: "&")
            let page = try await hub.send(
                "GET",
                target + (target.contains("?") ? "&" : "?") + "$top=1",
                as: hub.full
            )
            let next: String = try #require(page.headers["x-ms-continuationtoken"], "\(page.body)")
            values["continuation"] = next
        case "installation: read", "installation: patch", "installation: delete":
            let id = try InstallationID(values["installation"] ?? "")
            let isTile = request.body.contains("secondaryTiles")
            let installation = Installation(
                id: id,
                platform: isTile ? .wns : .apns,
                pushChannel: .handle(isTile ? "https://wns.example/1" : token),
                tags: [try Tag(tag)]
            )
            try await hub.hub.installations.put(installation, bytes: 0, grant: hub.manageGrant, channel: nil)
        case "telemetry of a message":
            let reply = try await hub.send("POST", "messages", as: hub.full, #"{"m":"x"}"#)
            values["notification"] = id(in: reply)
        case "cancel a schedule":
            let headers = ["ServiceBusNotification-ScheduleTime": "2030-03-18T00:00:00"]
            let path = "schedulednotifications"
            values["notification"] = id(
                in: try await hub.send("POST", path, as: hub.full, headers: headers, #"{"m":"x"}"#)
            )
        case "import and export jobs":
            let job = """
                <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><NotificationHubJob \
                xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><Type>ExportRegistrations\
                </Type><OutputContainerUri>https://files.example/</OutputContainerUri></NotificationHubJob></content></entry>
                """
            let reply = try await hub.send("POST", "jobs", as: hub.full, job)
            values["job"] = reply.body.split(separator: "<JobId>").dropFirst().first
                .map { String($0.prefix { $0 != "<" }) }
        case "hub: read", "hub: delete": _ = try await hub.make(values["newhub"] ?? "")
        case "hub: create or update":
            if request.status == 200 { _ = try await hub.make(values["newhub"] ?? "") }
        default: break
        }
    }

    private static func put(_ id: RegistrationID, _ hub: TestHub) async throws {
        let registration = Registration(
            id: id,
            tags: [try Tag(tag)],
            platform: .apns,
            pushChannel: .handle(token)
        )
        _ = try await hub.hub.registrations.put(registration, if: .none, bytes: 0, grant: hub.manageGrant)
    }

    private static func id(in reply: Reply) -> String {
        let path = reply.headers["location"]?.prefix { $0 != "?" } ?? ""
        return path.split(separator: "/").last.map(String.init) ?? "none"
    }
}

/// One hub for all cases of a test: to start one takes longer than a request.
private struct SharedHub: TestTrait, TestScoping {
    @TaskLocal static var current: TestHub?

    private static let names = ["localhost"].compactMap { HostName($0) }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> SharedHub? { testCase == nil ? self : nil }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) {
            $0.certificate = .local(LocalCertificates(directory: scratch.folder, names: Self.names))
        } _: { hub in
            try await Self.$current.withValue(hub) { try await function() }
        }
    }
}

/// The table of `docs/protocol-coverage.md` is what the recorded requests are.
struct ProtocolCoverageTests {
    private static var document: URL {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/protocol-coverage.md")
    }

    private static let marks = ("<!-- made by ProtocolCoverageTests -->\n", "<!-- end -->\n")

    /// Operations that no client of the twelve sends have no row.
    private static func table() throws -> String {
        var cells: [String: [ClientLibrary: [String]]] = [:]
        for client in ClientLibrary.allCases {
            for request in try client.requests {
                cells[request.operation, default: [:]][client, default: []].append("`\(request.name)`")
            }
        }
        var lines = ["| operation |" + ClientLibrary.allCases.map { " \($0.title) |" }.joined()]
        lines.append("| --- |" + String(repeating: " --- |", count: ClientLibrary.allCases.count))
        for (operation, clients) in cells.sorted(by: { $0.key < $1.key }) {
            let row = ClientLibrary.allCases.map { " \(clients[$0]?.joined(separator: " ") ?? "–") |" }
            lines.append("| \(operation) |" + row.joined())
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// With `NEWSWIRE_WRITE_DOCS=1` the table is written instead.
    @Test func `each cell of the coverage table names the requests that are tested, and all of them`() throws {
        let text = try String(contentsOf: Self.document, encoding: .utf8)
        let start = try #require(text.range(of: Self.marks.0)).upperBound
        let end = try #require(text.range(of: Self.marks.1)).lowerBound
        let table = try Self.table()
        if ProcessInfo.processInfo.environment["NEWSWIRE_WRITE_DOCS"] != nil {
            let written = text.replacingCharacters(in: start..<end, with: table)
            return try written.write(to: Self.document, atomically: true, encoding: .utf8)
        }
        #expect(text[start..<end] == table, "write it anew: NEWSWIRE_WRITE_DOCS=1 swift test --filter ProtocolCoverage")
    }
}
