import Foundation
import HubProtocol
import HubRouting
import HubStore
import StreamProbe
import Synchronization
import Testing

@testable import HubServer

/// Installations that say how long they are good for.
struct ExpirationTests {
    private func expiring(_ id: String, in seconds: Double, of clock: TestClock) throws -> Agent {
        var agent = Agent(id)
        agent.expirationTime = clock.now.addingTimeInterval(seconds)
        return agent
    }

    @Test func `an installation is removed when its time has come`() async throws {
        let scratch = try Scratch()
        let clock = TestClock()
        let short = try expiring("short", in: 3_600, of: clock)
        let long = try expiring("long", in: 86_400, of: clock)
        // Known again after a start.
        try await TestHub.run(scratch, clock: clock) { hub in
            for agent in [short, long, Agent("never")] { try await hub.register(agent) }
        }
        try await TestHub.run(scratch, clock: clock) { hub in
            let stream = try hub.probe(short)
            let time = TestTime()
            try await hub.pass(3_599, of: time)
            #expect(hub.count == 3)
            try await hub.pass(1, of: time)
            #expect(hub.count == 2)
            try await hub.settle([stream])
            #expect(stream.probe.names == ["revoked"])
            let read = try await hub.send("GET", "installations/short", as: hub.full)
            #expect(read.status == 404)
            // Who registers anew begins anew.
            var later = short
            later.expirationTime = clock.now.addingTimeInterval(7_200)
            try await hub.register(later)
            try await hub.pass(3_600, of: time)
            #expect(hub.count == 3)
            later.expirationTime = nil
            try await hub.register(later)
            try await hub.pass(86_400, of: time)
            #expect(hub.count == 2, "one has expired, one no longer does")
        }
    }

    @Test func `the registrations of an installation that has expired have ended`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            let expiry = ISODateTime.format(clock.now.addingTimeInterval(3_600))
            let phone = #"{"installationId":"p","platform":"gcm","pushChannel":"g","expirationTime":"\#(expiry)"}"#
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, phone).status == 200)
            let page = try await hub.hub.registrations.page(.all, from: nil, limit: 2).registrations
            let path = "registrations/\(try #require(page.first).registration.id)"
            try await hub.pass(3_600, of: TestTime())
            #expect(hub.count == 0)
            let entry = """
                <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><GcmRegistrationDescription \
                xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><GcmRegistrationId>g\
                </GcmRegistrationId></GcmRegistrationDescription></content></entry>
                """
            for headers in [[:], ["If-Match": "*"], ["If-Match": "\"1\""]] {
                let gone = try await hub.send("PUT", path, as: hub.listen, headers: headers, entry)
                #expect(gone.status == 410, "\(headers)")
            }
            #expect(try await hub.send("GET", path, as: hub.listen).status == 404)
            #expect(try await hub.send("DELETE", path, as: hub.listen, headers: ["If-Match": "*"]).status == 200)
        }
    }

    @Test func `an installation whose record is damaged is removed when its time has come`() async throws {
        let scratch = try Scratch()
        let clock = TestClock()
        let damaged = try expiring("damaged", in: 3_600, of: clock)
        let later = try expiring("later", in: 7_200, of: clock)
        try await TestHub.run(scratch, clock: clock) { hub in
            for agent in [damaged, later] { try await hub.register(agent) }
        }
        try await scratch.damage("UPDATE installation SET record = 'nonsense'")
        try await TestHub.run(scratch, clock: clock) { hub in
            let time = TestTime()
            try await hub.pass(3_600, of: time)
            let left = try await hub.hub.store.expiredInstallations(
                hub: hub.hub.record.id,
                at: .distantFuture,
                limit: 10
            )
            #expect(left.map(\.text) == ["later"])
        }
    }

    @Test func `a clock that jumps removes no installation before it has settled`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            try await hub.register(try expiring("a", in: 3_600, of: clock))
            let time = TestTime()
            try await hub.pass(1, of: time)
            try await hub.pass(10 * 86_400, monotonic: 60, of: time)
            try await hub.pass(60, of: time)
            #expect(hub.count == 1)
            try await hub.pass(3_600, of: time)
            #expect(hub.count == 0)
        }
    }
}

extension ExpirationTests {
    @Test func `a registration lives as long after a clock was set as it would have without`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            try await hub.set { $0.registrationLifetime = .seconds(86_400) }
            var registration = Registration(id: .random(), platform: .apns, pushChannel: .handle("AA11"))
            _ = try await hub.hub.registrations.put(registration, if: .none, bytes: 0, grant: hub.manageGrant)
            let time = TestTime()
            try await hub.pass(1, of: time)
            // A machine without a battery for its clock is weeks behind until the network tells it the time.
            try await hub.pass(20 * 86_400, monotonic: 60, of: time)
            registration = Registration(id: .random(), platform: .apns, pushChannel: .handle("AA12"))
            _ = try await hub.hub.registrations.put(registration, if: .none, bytes: 0, grant: hub.manageGrant)
            for _ in 0..<3 { try await hub.pass(3_000, of: time) }
            #expect(try await hub.hub.recipients(of: nil, .apple).total == 2)
            try await hub.pass(82_000, of: time)
            #expect(try await hub.hub.recipients(of: nil, .apple).total == 0)
        }
    }
}

extension TestHub {
    fileprivate var count: Int { hub.status.installationCounts.values.reduce(0, +) }
}
