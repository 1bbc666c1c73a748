import Certificates
import HubProtocol
import HubTestServer
import Logging
import NetworkAddresses
import OutboundHTTP
import Testing

@testable import PushEmulator

@Suite struct ServerTests {
    @Test func aClientThatDoesNotTrustTheAuthorityIsNotServed() async throws {
        try await Emulation.run { emulation async throws in
            let client = OutboundClient(userAgent: "test/1")
            let request = OutboundRequest(url: emulation.emulator.origin + "/", addresses: .any)
            await #expect(throws: OutboundError.self) { try await client.send(request) }
            await client.shutdown()
        }
    }

    @Test func thousandsOfRequestsAreAnsweredOnOneConnection() async throws {
        try await Emulation.run(connectionsPerHost: 1) { emulation in
            let headers = try emulation.apnsHeaders()
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<2_000 {
                    group.addTask {
                        let token = String(0x10000 + number, radix: 16) + "0"
                        return try await emulation.send("POST", "/3/device/\(token)", headers, Emulation.alert).status
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            #expect(statuses == [200: 2_000])
        }
    }

    @Test func aHugeBodyIsRefusedAndTheConnectionStays() async throws {
        try await Emulation.run(connectionsPerHost: 1) { emulation async throws in
            let huge = [UInt8](repeating: 0x20, count: 2 << 20)
            #expect(try await emulation.sendApns("00", [], huge).reason == "PayloadTooLarge")
            #expect(try await emulation.sendApns("00").status == 200)
            let endpoint = emulation.emulator.origin + "/push/x"
            #expect(try await emulation.sendWebPush(endpoint, huge).status == 413)
            #expect(try await emulation.send("POST", "/token", [], huge).status == 400)
            #expect(emulation.emulator.inbox(of: "00").count == 1)
        }
    }

    @Test func aBodyWithoutEndIsBrokenOff() async throws {
        var limits = EmulatorLimits()
        limits.bodyBytes = 8_192
        limits.discardedBytes = 16_384
        // On a busy machine, the body may take longer than requests usually may.
        limits.request = .seconds(600)
        try await Emulation.run(limits: limits) { emulation in
            let connection = try await RawConnection.open(emulation.emulator.port)
            let stream = try await connection.begin("/3/device/00", try emulation.apnsHeaders())
            let piece = [UInt8](repeating: 0x20, count: 4_096)
            // NIO's client forgets a reply that it has not delivered when the stream is reset.
            for _ in 0..<3 { try await stream.send(piece, ends: false) }
            #expect(await stream.reply()?.status == 413)
            var sent = 3
            while sent < 64, (try? await stream.send(piece, ends: false)) != nil { sent += 1 }
            #expect(sent < 64)
            let other = try await connection.post("/3/device/00", try emulation.apnsHeaders(), Emulation.alert)
            #expect(await other.reply()?.status == 200)
        }
    }

    @Test func aRequestThatDoesNotEndIsTimedOut() async throws {
        var limits = EmulatorLimits()
        limits.request = .seconds(1)
        try await Emulation.run(limits: limits) { emulation in
            let connection = try await RawConnection.open(emulation.emulator.port)
            let stream = try await connection.begin("/3/device/00", try emulation.apnsHeaders())
            try await stream.send([0x7B], ends: false)
            #expect(await stream.reply()?.status == 408)
            let other = try await connection.post("/3/device/00", try emulation.apnsHeaders(), Emulation.alert)
            #expect(await other.reply()?.status == 200)
        }
    }

    @Test func aSilentConnectionIsClosed() async throws {
        var limits = EmulatorLimits()
        limits.idle = .milliseconds(500)
        try await Emulation.run(limits: limits) { emulation in
            let connection = try await RawConnection.open(emulation.emulator.port)
            await connection.closed()
        }
    }

    @Test func aHandshakeThatDoesNotEndIsBrokenOff() async throws {
        var limits = EmulatorLimits()
        limits.handshake = .milliseconds(50)
        try await Emulation.run(limits: limits) { emulation in
            try await PlainConnection.open(emulation.emulator.port).closed()
        }
    }

    @Test func furtherConnectionsAreClosedWithAWarning() async throws {
        var limits = EmulatorLimits()
        limits.connections = 1
        let warnings = LogLines(level: .warning)
        try await Emulation.run(limits: limits, logger: warnings.logger) { emulation in
            let first = try await RawConnection.open(emulation.emulator.port)
            let headers = try emulation.apnsHeaders()
            let stream = try await first.post("/3/device/00", headers, Emulation.alert)
            #expect(await stream.reply()?.status == 200)
            try await PlainConnection.open(emulation.emulator.port).closed()
            await warnings.wait { _ in true }
            #expect(
                warnings.all == [
                    "warning a connection could not be set up error.reason=there are 1 connections already"
                ]
            )
            let again = try await first.post("/3/device/00", headers, Emulation.alert)
            #expect(await again.reply()?.status == 200)
        }
    }

    @Test(arguments: [
        "", "x", ".", "..", "...", "a.b.c", "e30.e30.", "e30.e30.AA", "bnVsbA.bnVsbA.AA", "W10.W10.AA",
        String(repeating: "A", count: 7_000), String(repeating: "a.", count: 2_000), "\u{7F}", "ä.ö.ü",
    ]) func garbageTokensAreRefused(token: String) async throws {
        try await Emulation.run { emulation in
            var headers = try emulation.apnsHeaders()
            headers[0].value = "bearer " + token
            let answer = try await emulation.send("POST", "/3/device/00", headers, Emulation.alert)
            #expect(answer.status == 403)
            let vapid: [(name: String, value: String)] = [("authorization", "vapid t=\(token), k=\(token)")]
            let push = try await emulation.sendWebPush(emulation.emulator.origin + "/push/x", replacing: vapid)
            #expect(push.status == 401)
        }
    }

    @Test func aClientCertificateReplacesTheProviderToken() async throws {
        try await Emulation.run { emulation in
            let now = emulation.clock.now.date
            let authority = try CertificateAuthority(host: "developer", now: now)
            let identity = try authority.issue(for: [try #require(HostName("localhost"))], now: now)
            let connection = try await RawConnection.open(emulation.emulator.port, identity: identity)
            let stream = try await connection.post("/3/device/00", [("apns-push-type", "alert")], Emulation.alert)
            #expect(await stream.reply()?.status == 200)
            let plain = try await RawConnection.open(emulation.emulator.port)
            let refused = try await plain.post("/3/device/00", [("apns-topic", "a")], Emulation.alert)
            #expect(await refused.reply()?.text.contains("MissingProviderToken") == true)
        }
    }

    @Test func applesServiceTakesNoHTTP1AndOthersDo() async throws {
        try await Emulation.run { emulation in
            // A stream of this client speaks HTTP/1.1.
            let apns = OutboundRequest(
                method: "POST",
                url: emulation.emulator.origin + "/3/device/00",
                headers: try emulation.apnsHeaders(),
                body: Emulation.alert,
                addresses: .any
            )
            #expect(try await emulation.client.stream(apns).status == 505)
            let wns = OutboundRequest(
                method: "POST",
                url: emulation.emulator.channelURI("phone"),
                headers: [
                    ("authorization", "Bearer \(try await emulation.microsoftToken())"), ("x-wns-type", "wns/badge"),
                    ("content-type", "text/xml"),
                ],
                body: Array("<badge/>".utf8),
                addresses: .any
            )
            #expect(try await emulation.client.stream(wns).status == 200)
            #expect(emulation.emulator.inbox(of: "phone").count == 1)
        }
    }

    @Test func stoppingEndsRequestsInFlight() async throws {
        try await Emulation.run { emulation in
            let connection = try await RawConnection.open(emulation.emulator.port)
            let headers = try emulation.apnsHeaders()
            let slow = try await connection.post("/3/device/fa17040899", headers, Emulation.alert)
            let half = try await connection.begin("/3/device/00", headers)
            let quick = try await connection.post("/3/device/01", headers, Emulation.alert)
            #expect(await quick.reply()?.status == 200)
            await emulation.emulator.stop()
            #expect(await slow.reply() == nil)
            #expect(await half.reply() == nil)
            await connection.closed()
            await emulation.emulator.stop()
        }
    }

    @Test func aPortThatIsTakenIsAnError() async throws {
        try await Emulation.run { emulation async throws in
            let port = emulation.emulator.port
            let now = emulation.clock.now
            await #expect(throws: (any Error).self) { try await PushEmulator.start(port: port) { now } }
        }
    }
}
