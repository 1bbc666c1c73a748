import Formats
import HubProtocol
import OutboundHTTP
import Testing

@testable import PushEmulator

@Suite struct FaultTests {
    @Test(
        arguments: [
            ("dead-phone", PushFault(.dead())), ("DEAD", PushFault(.dead())), ("dead-2-x", PushFault(.dead())),
            ("fa17dead00ff", PushFault(.dead())), ("FA17DEAD42", PushFault(.dead())),
            ("fa17bad0", PushFault(.malformed)),
            ("throttled", PushFault(.throttled())), ("throttled-2", PushFault(.throttled(), times: 2)),
            ("throttled-2-phone", PushFault(.throttled(), times: 2)), ("throttled-0", PushFault(.throttled())),
            ("throttled-phone", PushFault(.throttled())), ("throttled-100", PushFault(.throttled())),
            ("fa17042902ab", PushFault(.throttled(), times: 2)), ("fa170429", PushFault(.throttled())),
            ("fa170429ab", PushFault(.throttled())), ("fa17050300", PushFault(.unavailable())),
            ("unavailable-3", PushFault(.unavailable(), times: 3)), ("broken-1", PushFault(.internalError, times: 1)),
            ("slow-5", PushFault(.slow(.seconds(5)))), ("fa17040812", PushFault(.slow(.seconds(12)))),
            ("goaway-1", PushFault(.goAway, times: 1)), ("fa17060a01", PushFault(.goAway, times: 1)),
            ("badcredential-x", PushFault(.badCredential)), ("wrongtopic", PushFault(.wrongTopic)),
            ("dropped-9", PushFault(.dropped)), ("deadline", nil), ("adead", nil), ("", nil), ("-", nil), ("fa17", nil),
            ("fa17123401", nil), ("dea", nil),
        ] as [(String, PushFault?)]
    ) func aHandleAsksForItsFault(id: String, fault: PushFault?) {
        #expect(FaultMarker.fault(in: id) == fault)
    }

    @Test(
        arguments: [
            ("throttled-2", PushFault(.throttled(), times: 2)), ("slow-3", PushFault(.slow(.seconds(3)))),
            ("dead", PushFault(.dead())), ("dead-2", nil), ("throttled-x", nil), ("throttled-2-3", nil), ("none", nil),
            ("", nil),
        ] as [(String, PushFault?)]
    ) func aFaultIsReadFromText(text: String, fault: PushFault?) {
        #expect(PushFault(text) == fault)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let service: EmulatedService
        let marker: String
        let status: Int
        let code: String?

        var testDescription: String { "\(service) \(marker)" }
    }

    private static let rows = [
        Row(service: .apns, marker: "fa17dead", status: 410, code: "Unregistered"),
        Row(service: .apns, marker: "fa17bad0", status: 400, code: "BadDeviceToken"),
        Row(service: .apns, marker: "fa170429", status: 429, code: "TooManyRequests"),
        Row(service: .apns, marker: "fa170503", status: 503, code: "ServiceUnavailable"),
        Row(service: .apns, marker: "fa170500", status: 500, code: "InternalServerError"),
        Row(service: .apns, marker: "fa170403", status: 403, code: "InvalidProviderToken"),
        Row(service: .apns, marker: "fa170400", status: 400, code: "DeviceTokenNotForTopic"),
        Row(service: .apns, marker: "fa170200", status: 200, code: nil),
        Row(service: .fcm, marker: "dead-", status: 404, code: "UNREGISTERED"),
        Row(service: .fcm, marker: "malformed-", status: 400, code: "INVALID_ARGUMENT"),
        Row(service: .fcm, marker: "throttled-", status: 429, code: "QUOTA_EXCEEDED"),
        Row(service: .fcm, marker: "unavailable-", status: 503, code: "UNAVAILABLE"),
        Row(service: .fcm, marker: "broken-", status: 500, code: "INTERNAL"),
        Row(service: .fcm, marker: "badcredential-", status: 403, code: nil),
        Row(service: .fcm, marker: "wrongtopic-", status: 403, code: "SENDER_ID_MISMATCH"),
        Row(service: .wns, marker: "dead-", status: 410, code: nil),
        Row(service: .wns, marker: "malformed-", status: 404, code: nil),
        Row(service: .wns, marker: "throttled-", status: 200, code: "channelthrottled"),
        Row(service: .wns, marker: "unavailable-", status: 503, code: nil),
        Row(service: .wns, marker: "broken-", status: 500, code: nil),
        Row(service: .wns, marker: "badcredential-", status: 401, code: nil),
        Row(service: .wns, marker: "wrongtopic-", status: 403, code: nil),
        Row(service: .wns, marker: "dropped-", status: 200, code: "dropped"),
        Row(service: .webPush, marker: "dead-", status: 410, code: "106"),
        Row(service: .webPush, marker: "malformed-", status: 404, code: "102"),
        Row(service: .webPush, marker: "throttled-", status: 429, code: "201"),
        Row(service: .webPush, marker: "unavailable-", status: 503, code: "201"),
        Row(service: .webPush, marker: "broken-", status: 500, code: "999"),
        Row(service: .webPush, marker: "badcredential-", status: 401, code: "109"),
        Row(service: .webPush, marker: "wrongtopic-", status: 400, code: "VapidPkHashMismatch"),
    ]

    @Test(arguments: rows) func eachServiceFailsInItsOwnWay(row: Row) async throws {
        try await Emulation.run { emulation in
            let answer = try await emulation.send(to: row.service, row.marker + "00")
            #expect(answer.status == row.status)
            #expect(answer.code(of: row.service) == row.code)
            if [429, 503].contains(row.status) { #expect(answer.headers["retry-after"] == "1") }
            if row.status == 410, row.service == .apns {
                #expect(answer.json?["timestamp"]?.integer == emulation.clock.now.milliseconds)
            }
            let isDelivered = row.status == 200 && row.code == nil
            #expect(emulation.inbox(of: row.service, row.marker + "00").isEmpty == !isDelivered)
        }
    }

    @Test(arguments: EmulatedService.allCases)
    func aDeviceThatFailsTwiceWorksAfterwards(service: EmulatedService) async throws {
        try await Emulation.run { emulation in
            var statuses: [Int] = []
            for _ in 0..<4 { statuses.append(try await emulation.send(to: service, "fa17050302").status) }
            let good = service == .webPush ? 201 : 200
            #expect(statuses == [503, 503, good, good])
            #expect(emulation.inbox(of: service, "fa17050302").count == 2)
        }
    }

    @Test(arguments: EmulatedService.allCases)
    func aFaultIsSetForADeviceAndTakenBack(service: EmulatedService) async throws {
        try await Emulation.run { emulation in
            let handle = emulation.handle(of: service, "00aa")
            emulation.emulator.setFault(PushFault(.unavailable(retryAfter: .seconds(30))), forHandle: handle)
            let answer = try await emulation.send(to: service, "00aa")
            #expect(answer.status == 503)
            #expect(answer.headers["retry-after"] == "30")
            #expect(try await emulation.send(to: service, "00ab").status < 300)
            emulation.emulator.setFault(nil, forHandle: handle)
            #expect(try await emulation.send(to: service, "00aa").status < 300)
        }
    }

    @Test(
        arguments: [
            (.apns, 429, "TooManyProviderTokenUpdates"), (.fcm, 429, "QUOTA_EXCEEDED"), (.wns, 406, nil),
            (.webPush, 429, "201"),
        ] as [(EmulatedService, Int, String?)]
    )
    func aServiceThatIsThrottledThrottlesAllDevices(service: EmulatedService, status: Int, code: String?) async throws {
        try await Emulation.run { emulation in
            emulation.emulator.setFault(PushFault(.throttled(retryAfter: .milliseconds(1_500)), times: 2), for: service)
            for id in ["aa", "bb"] {
                let answer = try await emulation.send(to: service, id)
                #expect(answer.status == status)
                #expect(answer.code(of: service) == code)
                #expect(answer.headers["retry-after"] == "2")
            }
            #expect(try await emulation.send(to: service, "aa").status < 300)
        }
    }

    @Test func theTimeAtWhichATokenDiedCanBeChosen() async throws {
        try await Emulation.run { emulation in
            emulation.emulator.setFault(PushFault(.dead(since: 1_700_000_000_123)), forHandle: "00AA")
            let answer = try await emulation.send(to: .apns, "00aa")
            #expect(answer.status == 410)
            #expect(answer.json?["timestamp"]?.integer == 1_700_000_000_123)
        }
    }

    @Test func aSlowAnswerHoldsUpNoOther() async throws {
        try await Emulation.run { emulation in
            let connection = try await RawConnection.open(emulation.emulator.port)
            let fields = try emulation.apnsHeaders()
            let slow = try await connection.post("/3/device/fa17040899", fields, Emulation.alert)
            let quick = try await connection.post("/3/device/00", fields, Emulation.alert)
            #expect(await quick.reply()?.status == 200)
            #expect(emulation.emulator.inbox(of: "fa17040899").isEmpty)
            await emulation.emulator.stop()
            #expect(await slow.reply() == nil)
            #expect(emulation.emulator.inbox(of: "fa17040899").isEmpty)
        }
    }

    @Test func aSlowAnswerComesInTheEnd() async throws {
        try await Emulation.run { emulation async throws in
            emulation.emulator.setFault(PushFault(.slow(.milliseconds(20))), forHandle: "00")
            #expect(try await emulation.sendApns("00").status == 200)
            #expect(emulation.emulator.inbox(of: "00").count == 1)
        }
    }

    @Test func aGoAwayNamesTheLastStreamThatIsAnswered() async throws {
        try await Emulation.run { emulation in
            let connection = try await RawConnection.open(emulation.emulator.port)
            let fields = try emulation.apnsHeaders()
            emulation.emulator.setFault(PushFault(.slow(.milliseconds(100))), forHandle: "01")
            let earlier = try await connection.post("/3/device/01", fields, Emulation.alert)
            let refused = try await connection.post("/3/device/fa17060a01", fields, Emulation.alert)
            #expect(await refused.reply() == nil)
            #expect(await earlier.reply()?.status == 200)
            #expect(await connection.lastStreamOfGoAway() == 1)
            #expect(emulation.emulator.inbox(of: "fa17060a01").isEmpty)
        }
    }

    @Test(arguments: EmulatedService.allCases)
    func aClientThatIsSentAwayIsServedOnAnotherConnection(service: EmulatedService) async throws {
        try await Emulation.run { emulation in
            // libcurl does not try again by itself when it cannot know whether a request was carried out.
            await #expect(throws: OutboundError.self) { try await emulation.send(to: service, "fa17060a01") }
            let answer = try await emulation.send(to: service, "fa17060a01")
            #expect(answer.status < 300)
            #expect(emulation.inbox(of: service, "fa17060a01").count == 1)
        }
    }

    @Test func ofMoreDevicesThanAreRememberedTheOldestStartAnew() {
        var script = FaultScript()
        let first = EmulatedDevice(service: .fcm, id: "broken-1")
        #expect(script.take(for: first) != nil)
        #expect(script.take(for: first) == nil)
        for number in 0..<10_000 { _ = script.take(for: EmulatedDevice(service: .fcm, id: "broken-1-\(number)")) }
        #expect(script.take(for: first) != nil)
    }
}

extension Emulation {
    func handle(of service: EmulatedService, _ id: String) -> String {
        EmulatedDevice(service: service, id: id).handle(origin: emulator.origin)
    }

    func inbox(of service: EmulatedService, _ id: String) -> [EmulatedDelivery] {
        emulator.inbox(of: handle(of: service, id))
    }

    /// Sends something that the service accepts.
    func send(to service: EmulatedService, _ id: String) async throws -> Answer {
        switch service {
        case .apns: try await sendApns(id)
        case .fcm: try await sendFcm("{\"message\":{\"token\":\"\(id)\"}}")
        case .wns: try await sendWns(id)
        case .webPush: try await sendWebPush(emulator.origin + "/push/\(id)")
        }
    }
}

extension Emulation.Answer {
    /// The service's own word for what happened; `nil` for none, and for a success.
    func code(of service: EmulatedService) -> String? {
        switch service {
        case .apns: reason
        case .fcm: fcmCode
        case .wns: headers["x-wns-status"].flatMap { $0 == "received" ? nil : $0 }
        case .webPush: json?["errno"]?.integer.map { "\($0)" } ?? reason
        }
    }
}
