import Formats
import Foundation
import HubProtocol
import HubTestServer
import Logging
import OutboundHTTP
import Synchronization

@testable import PushEmulator

/// An emulator for one test, with a client that trusts it.
final class Emulation: Sendable {
    let emulator: PushEmulator
    let client: OutboundClient
    let clock: Clock
    private let folder: ScratchFolder

    private init(_ emulator: PushEmulator, _ client: OutboundClient, _ clock: Clock, _ folder: ScratchFolder) {
        self.emulator = emulator
        self.client = client
        self.clock = clock
        self.folder = folder
    }

    /// A clock that stands still until it is set.
    final class Clock: Sendable {
        private let time: Mutex<Timestamp>

        init(_ time: Timestamp) { self.time = Mutex(time) }

        var now: Timestamp {
            get { time.withLock { $0 } }
            set { time.withLock { $0 = newValue } }
        }
    }

    /// Runs an emulator while `body` runs.
    static func run(
        port: Int = 0,
        seed: [UInt8]? = nil,
        limits: EmulatorLimits = EmulatorLimits(),
        connectionsPerHost: Int = 4,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ body: (Emulation) async throws -> Void
    ) async throws {
        let folder = try ScratchFolder()
        // The client's TLS goes by the real time.
        let clock = Clock(Timestamp(Date()))
        let emulator = try await PushEmulator.start(port: port, seed: seed, limits: limits, logger: logger) {
            clock.now
        }
        let file = folder.file("ca.pem")
        try Data(emulator.certificateAuthority.utf8).write(to: URL(fileURLWithPath: file))
        let client = OutboundClient(
            userAgent: "test/1",
            maximumConnectionsPerHost: connectionsPerHost,
            certificateAuthorities: file
        )
        let emulation = Emulation(emulator, client, clock, folder)
        do {
            try await body(emulation)
        } catch {
            await emulation.end()
            throw error
        }
        await emulation.end()
    }

    private func end() async {
        await client.shutdown()
        await emulator.stop()
    }

    func send(
        _ method: String = "POST",
        _ path: String,
        _ headers: [(name: String, value: String)] = [],
        _ body: [UInt8] = [],
        timeout: Duration = WaitLimit.duration
    ) async throws -> Answer {
        let url = path.hasPrefix("https:") ? path : emulator.origin + path
        let request = OutboundRequest(
            method: method,
            url: url,
            headers: headers,
            body: method == "GET" ? nil : body,
            totalTimeout: timeout,
            maximumRedirects: 0,
            addresses: .any
        )
        let response = try await client.send(request)
        return Answer(status: response.status, headers: response.headers, body: response.body)
    }

    struct Answer: Sendable {
        let status: Int
        let headers: OutboundHeaders
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }

        /// The body as JSON.
        var json: JSONNode? { try? JSONReader.read(body) }

        /// APNs' and Apple's reason.
        var reason: String? { json?["reason"]?.string }

        /// The code of an `FcmError` among the details.
        var fcmCode: String? {
            guard case .array(let details)? = json?["error"]?["details"]?.content else { return nil }
            return details.first { $0["@type"]?.string?.hasSuffix("FcmError") == true }?["errorCode"]?.string
        }
    }
}
