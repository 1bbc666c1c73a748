import Foundation
import HubClient
import HubProtocol
import HubTestServer
import OutboundHTTP
import Testing

@testable import AppBackend

/// A user's devices, as an operator sees and removes them.
@Suite struct AccountDevicesTests {
    private func register(_ devices: [(user: String, handle: String)], _ backend: TestBackend) async throws {
        for (user, handle) in devices {
            var app = RegisterClient(backend, .forgetting, as: user)
            try await app.register(handle)
        }
    }

    @Test func `a user's devices are listed, and nobody else's, and no id that was not used`() async throws {
        try await TestBackend.run { backend, hub in
            try await register([("ann", "AA"), ("bob", "CC")], backend)
            let body = #"{"installationId":"pad","platform":"apns","pushChannel":"DD"}"#
            let put = try await backend.send("PUT", "/api/installations/pad", as: "ann", body)
            #expect(put.status == 200, "\(put.body)")
            let unused = try await backend.send("POST", "/api/register?handle=EE", as: "ann")
            #expect(unused.status == 200, "\(unused.body)")
            let ann = try #require(UserName("ANN"))
            let devices = try await Accounts(store: backend.store).devices(of: ann)
            let registrations = try await hub.registrations("username:ann")
            let phone = try #require(registrations.first { $0.pushChannel == .handle("AA") })
            #expect(Set(devices.map(\.id)) == [phone.id.text, "pad"])
            #expect(Set(devices.map(\.kind)) == [.registration, .installation])
            #expect(devices.filter(\.isConfirmed).count == 2)
        }
    }

    @Test func `another process deletes a removed user's devices at the hub`() async throws {
        try await TestBackend.run { backend, hub in
            try await register([("ann", "AA"), ("ann", "BB"), ("bob", "CC")], backend)
            let ann = try #require(UserName("ann"))
            let accounts = Accounts(store: backend.store)
            try await accounts.remove(ann)
            try await accounts.removeDevices(of: ann, from: hub.client)
            let left = try await hub.registrations()
            #expect(left.map(\.pushChannel) == [.handle("CC")])
            let devices = try await accounts.devices(of: ann)
            #expect(devices.isEmpty)
            // Once more, as after an outcome that nobody learned of.
            try await accounts.removeDevices(of: ann, from: hub.client)
        }
    }

    @Test func `devices that the hub has lost are deleted all the same`() async throws {
        try await TestBackend.run { backend, hub in
            try await register([("ann", "AA")], backend)
            for registration in try await hub.registrations() { try await hub.client.delete(registration.id) }
            let (accounts, ann) = (Accounts(store: backend.store), try #require(UserName("ann")))
            try await accounts.removeDevices(of: ann, from: hub.client)
            let devices = try await accounts.devices(of: ann)
            #expect(devices.isEmpty)
        }
    }

    @Test func `while the hub is away the devices stay known, for another attempt`() async throws {
        try await TestBackend.run { backend, hub in
            try await register([("ann", "AA")], backend)
            let away = try ScriptedHTTPServer { _ in .status(503) }
            let connection = try ConnectionString(
                parsing: "Endpoint=\(away.baseURL)/;SharedAccessKeyName=full;SharedAccessKey=c2VjcmV0"
            )
            let client = try HubClient(connection: connection, hub: HubName("news"), http: backend.http)
            let (accounts, ann) = (Accounts(store: backend.store), try #require(UserName("ann")))
            let error = await #expect(throws: BackendRefusal.self) {
                try await accounts.removeDevices(of: ann, from: client)
            }
            #expect(error?.isTemporary == true)
            let devices = try await accounts.devices(of: ann)
            #expect(devices.count == 1)
            try await accounts.removeDevices(of: ann, from: hub.client)
            let left = try await hub.registrations()
            #expect(left.isEmpty)
        }
    }

    @Test func `the server deletes a removed user's devices as soon as the hub is back`() async throws {
        try await TestBackend.run { backend, hub in
            try await register([("ann", "AA"), ("ann", "BB"), ("bob", "CC")], backend)
            let ann = try #require(UserName("ann"))
            let accounts = Accounts(store: backend.store)
            try await accounts.remove(ann)
            let server = try ScriptedHTTPServer { _ in .status(503) }
            let connection = try ConnectionString(
                parsing: "Endpoint=\(server.baseURL)/;SharedAccessKeyName=full;SharedAccessKey=c2VjcmV0"
            )
            let client = try HubClient(connection: connection, hub: HubName("news"), http: backend.http)
            let log = LogLines()
            let away = RemovedOwners(
                devices: UserDevices(
                    store: backend.store,
                    hub: client,
                    audit: backend.backend.audit,
                    backend.backend.configuration
                ),
                logger: log.logger
            )
            #expect(await away.clear())
            #expect(await away.clear(saying: false))
            #expect(log.all.filter { $0.contains("still registered") }.count == 1, "\(log.all)")
            // However long it takes, nobody else gets the name, and with it the devices.
            try await backend.store.releaseNames(before: Timestamp(milliseconds: .max))
            #expect(try await backend.store.removedOwners() == [ann])

            let back = RemovedOwners(devices: backend.backend.devices, logger: log.logger)
            #expect(await !back.clear())
            let left = try await hub.registrations()
            #expect(left.map(\.pushChannel) == [.handle("CC")])
            #expect(try await backend.store.removedOwners().isEmpty)
            #expect(await !back.clear())
            #expect(log.all.filter { $0.contains("were deleted at the hub") }.count == 1, "\(log.all)")
            try await backend.store.releaseNames(before: Timestamp(milliseconds: .max))
            try await accounts.checkFree(ann)
        }
    }
}
