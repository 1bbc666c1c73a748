import Crypto
import CryptoExtras
import Foundation
import HubProtocol
import OutboundHTTP
import PushEmulator
import Testing

/// A hub that is killed and started again, and the emulator of its push services, which stays.
final class PushPlay {
    static let platforms: [Platform] = [.apns, .fcmv1, .wns]
    static let services: [EmulatedService] = [.apns, .fcm, .wns]
    /// Longest wait for anything to come to its end.
    private static let patience = Duration.seconds(KillTests.isLong ? 900 : 90)

    let emulator: PushEmulator
    let fleet: PushFleet
    private let seed: UInt64
    private let scratch: ScratchFolder
    private let port: Int
    private let client = OutboundClient(userAgent: "tests")
    private var random: SeededGenerator
    private var hub: RunningProgram?

    /// Plays with a hub that has credentials for all platforms.
    static func run(seed: UInt64, targets: Int, _ body: (PushPlay) async throws -> Void) async throws {
        var limits = EmulatorLimits()
        limits.inbox.deliveriesPerDevice = 1_000
        limits.inbox.deliveries = 10_000_000
        limits.inbox.bytes = 8 << 30
        let emulator = try await PushEmulator.start(limits: limits) { Timestamp(Date()) }
        let play: PushPlay
        do {
            play = try PushPlay(seed: seed, targets: targets, emulator)
            try await play.startHub()
            try await play.setCredentials()
            try await body(play)
        } catch {
            await emulator.stop()
            throw error
        }
        await play.hub?.stop()
        await play.client.shutdown()
        await emulator.stop()
    }

    private init(seed: UInt64, targets: Int, _ emulator: PushEmulator) throws {
        self.seed = seed
        self.emulator = emulator
        fleet = PushFleet(count: targets, emulator)
        scratch = try ScratchFolder()
        port = try freePort()
        random = SeededGenerator(seed: seed)
        try scratch.write(emulator.certificateAuthority, to: "authority.pem")
    }

    /// For failures.
    var note: String { "seed \(seed): \(hub?.errors.suffix(2_000) ?? "")" }

    // MARK: - The hub's process

    private func startHub(waitsForReady: Bool = true) async throws {
        hub = try await RunningProgram(
            [
                "hub", "--port", "\(port)", "--state", scratch.file("hub"), "--log-level", "warning",
                "--push-origin", emulator.origin, "--push-authorities", scratch.file("authority.pem"),
            ],
            folder: scratch.path,
            waitsForReady: waitsForReady
        )
        try #require(hub?.isRunning == true, "\(note)")
    }

    /// Kills the hub and starts it again on the same state; now and then the next kill comes before it is ready.
    func killAndRestart() async throws {
        await hub?.killNow()
        try await startHub(waitsForReady: Int.random(in: 0..<4, using: &random) > 0)
    }

    /// A point in time chosen at random: not a wait for something to be done.
    func pauseAtRandom() async { await pause(milliseconds: Int.random(in: 0...900, using: &random)) }

    private func pause(milliseconds: Int) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { continuation.resume() }
        }
    }

    // MARK: - Requests

    struct Answer {
        let status: Int
        let text: String
        let location: String

        /// The last part of the address of what was made.
        var id: String { location.prefix { $0 != "?" }.split(separator: "/").last.map(String.init) ?? "" }
    }

    struct NoAnswer: Error {
        let answer: Answer
    }

    /// Sends a request with the hub's full rule, or with the namespace's.
    func send(
        _ method: String,
        _ path: String,
        isManagement: Bool = false,
        headers: [String: String] = [:],
        _ body: String = ""
    ) async throws -> Answer {
        let file = scratch.file("hub/\(isManagement ? "namespace" : "full").connection")
        let text = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        let connection = try ConnectionString(parsing: text)
        let token = SharedAccessToken.sign(
            resource: "http://127.0.0.1:\(port)/\(isManagement ? "" : "news")",
            keyName: connection.keyName,
            key: connection.key,
            expiresAt: Timestamp(Date()).seconds + 600
        )
        let request = OutboundRequest(
            method: method,
            url: "http://127.0.0.1:\(port)\(path)",
            headers: [(name: "Authorization", value: token)] + headers.map { (name: $0.key, value: $0.value) },
            body: body.isEmpty ? nil : Array(body.utf8),
            maximumRedirects: 0,
            addresses: .any
        )
        let response = try await client.send(request)
        return Answer(
            status: response.status,
            text: String(decoding: response.body, as: UTF8.self),
            location: response.headers.first("Location") ?? ""
        )
    }

    /// Looks again and again until something is so.
    func wait(_ what: String, until isSo: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + Self.patience
        while try await !isSo() {
            try #require(ContinuousClock.now < deadline, "\(what); \(note)")
            await pause(milliseconds: 20)
        }
    }

    private static func entry(_ content: String) -> String {
        #"<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\#(content)</content></entry>"#
    }

    private func setCredentials() async throws {
        func credential(_ kind: PlatformCredential.Kind, _ properties: [(String, String)]) -> PlatformCredential {
            PlatformCredential(kind, properties.map { .init(name: $0.0, value: $0.1) })
        }
        let fcmKey = try _RSA.Signing.PrivateKey(keySize: .bits2048).pkcs8PEMRepresentation
        let apnsKey = P256.Signing.PrivateKey().pemRepresentation
        let description = NotificationHubDescription(
            credentials: [
                credential(
                    .apns,
                    [("Token", apnsKey), ("KeyId", "ABCDEF1234"), ("AppId", "TEAM123456"), ("AppName", "org.example")]
                ),
                credential(.wns, [("PackageSid", "ms-app://s-1-15-2-1"), ("SecretKey", "secret")]),
                credential(
                    .fcmV1,
                    [
                        ("ProjectId", "example-project"), ("PrivateKey", fcmKey),
                        ("ClientEmail", "hub@example-project.iam.gserviceaccount.com"),
                    ]
                ),
            ]
        )
        let reply = try await send(
            "PUT",
            "/news",
            isManagement: true,
            headers: ["If-Match": "*"],
            Self.entry(description.xml)
        )
        try #require(reply.status == 200, "\(reply.text)")
    }

    // MARK: - Registrations

    /// Registers the fleet: registrations by an import job, installations one by one.
    func register() async throws {
        let folder = scratch.file("hub/jobs/news")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var lines: [UInt8] = []
        for target in fleet.targets where target.installation == nil {
            lines += try target.registration.exportLine + [UInt8(ascii: "\n")]
        }
        try Data(lines).write(to: URL(filePath: "\(folder)/in.txt"))
        let done = try await work("ImportCreateRegistrations", file: "in.txt").entry
        let hasFailed = !done.contains("<d3p1:Key>FailedCount</d3p1:Key><d3p1:Value>0</d3p1:Value>")
        try #require(!hasFailed, "\(done)")
        for target in fleet.targets {
            guard let installation = target.installation else { continue }
            let reply = try await send("PUT", "/news/installations/\(installation)", try target.json)
            try #require(reply.status == 200, "\(reply.text)")
        }
    }

    /// Registers a target of the fleet again.
    ///
    /// - Returns: The hub's status.
    func put(_ target: PushFleet.Target) async throws -> Int {
        let line = String(decoding: try target.registration.exportLine, as: UTF8.self)
        return try await send("PUT", "/news/registrations/\(target.id)", Self.entry(line)).status
    }

    /// Ids of all registrations of the hub.
    func export() async throws -> Set<String> {
        let id = try await work("ExportRegistrations").id
        let output = try Data(contentsOf: URL(filePath: scratch.file("hub/jobs/news/\(id)/Output.txt")))
        let ids = output.split(separator: UInt8(ascii: "\n")).compactMap { line in
            RegistrationLine.statedID(in: Array(line))?.text
        }
        #expect(Set(ids).count == ids.count, "\(note)")
        return Set(ids)
    }

    /// Runs a job to its end.
    private func work(_ type: String, file: String? = nil) async throws -> (id: String, entry: String) {
        let job = """
            <NotificationHubJob xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">\
            <Type>\(type)</Type><OutputContainerUri>https://c/</OutputContainerUri>\
            \(file.map { "<ImportFileUri>\($0)</ImportFileUri>" } ?? "")</NotificationHubJob>
            """
        let reply = try await send("POST", "/news/jobs", isManagement: true, Self.entry(job))
        try #require(reply.status == 201, "\(reply.text)")
        var entry = ""
        try await wait(type) {
            entry = try await send("GET", "/news/jobs/\(reply.id)", isManagement: true).text
            try #require(!entry.contains("<Status>Failed</Status>"), "\(entry)")
            return entry.contains("<Status>Completed</Status>")
        }
        return (reply.id, entry)
    }
}
