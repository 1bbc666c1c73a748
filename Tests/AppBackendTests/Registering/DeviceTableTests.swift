import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import AppBackend

@Suite struct DeviceTableTests {
    private let scratch: ScratchFolder
    private let store: BackendStore

    init() throws {
        scratch = try ScratchFolder()
        store = try TestStore.open(scratch.file("backend.sqlite"))
    }

    private func handle(_ text: String) -> HandleDigest { HandleDigest(.handle(text)) }

    private func given(_ text: String) throws -> GivenID { try #require(GivenID(text)) }

    private func key(_ id: String) -> DeviceKey { DeviceKey(kind: .registration, id: id) }

    @Test func `handles are the same in either case if they are hexadecimal, and differ else`() {
        #expect(handle("ab12") == handle("AB12"))
        #expect(handle("https://x/A") != handle("https://x/a"))
        let browser = BrowserPushChannel(endpoint: "https://x/", p256dh: "B", auth: "C")
        #expect(
            HandleDigest(.browser(browser))
                == HandleDigest(
                    .browser(BrowserPushChannel(endpoint: "https://x/", p256dh: "B", auth: "C", isText: true))
                )
        )
        #expect(
            HandleDigest(.browser(browser))
                != HandleDigest(.browser(BrowserPushChannel(endpoint: "https://x/", p256dh: "B", auth: "D")))
        )
        #expect(HandleDigest(.browser(browser)) != handle("https://x/"))
    }

    @Test(arguments: ["", "a\nb", "a\u{7F}", String(repeating: "x", count: 257)])
    func `an id that cannot be stored is not taken`(text: String) {
        #expect(GivenID(text) == nil)
    }

    @Test func `ids that were given out and not used are fifty a user`() async throws {
        let holder = RegisteredDevice.Holder(user: "ann", handle: handle("AA"))
        let other = RegisteredDevice.Holder(user: "bob", handle: nil)
        let ids = try await store.changeDevices { [self] table in
            try table.reserve(key("9-9-9"), for: other, limit: 3, at: 0)
            try table.want(holder, of: key("8-8-8"), at: 0)
            for number in 1...5 {
                let at = Timestamp(milliseconds: Int64(number / 3))
                try table.reserve(key("1-1-\(number)"), for: holder, limit: 3, at: at)
            }
            return try table.devices(of: "ann").map(\.key.id)
        }
        #expect(Set(ids) == ["8-8-8", "1-1-3", "1-1-4", "1-1-5"])
        let others = try await store.readDevices { try $0.devices(of: "bob") }
        #expect(others.map(\.key.id) == ["9-9-9"])
    }

    @Test func `both states count while the outcome of a call is unknown`() async throws {
        let (ann, bob) = (
            RegisteredDevice.Holder(user: "ann", handle: handle("AA")),
            RegisteredDevice.Holder(user: "bob", handle: handle("BB"))
        )
        let id = try given("1-1-1")
        try await store.changeDevices { [self] table in
            try table.want(ann, of: key("1-1-1"), at: 0)
            try table.settle(ann, of: key("1-1-1"), at: 1)
            try table.want(bob, of: key("1-1-1"), at: 2)
        }
        let stored = try await store.readDevices { [self] in try $0.device(key("1-1-1")) }
        let device = try #require(stored)
        #expect(device.isHeld(by: "ann") && device.isHeld(by: "bob") && !device.isHeld(by: "cat"))
        #expect(device.has(handle("aa")) && device.has(handle("bb")) && !device.has(handle("cc")))
        #expect(!device.isSettled(ann) && !device.isSettled(bob) && device.changedAt == 1)
        let found = try await store.readDevices { [self] table in
            [
                try table.find(id, user: "ann", handle: handle("AA")),
                try table.find(id, user: "bob", handle: handle("AA")),
                try table.find(id, user: "cat", handle: handle("BB")),
                try table.find(id, user: "cat", handle: handle("CC")),
            ]
        }
        #expect(found == [.device(device), .device(device), .device(device), .nothing])
        let former = try await store.changeDevices { [self] table -> RegisteredDevice? in
            var before = device
            before.wanted = nil
            try table.restore(before, of: key("1-1-1"))
            return try table.device(key("1-1-1"))
        }
        #expect(former?.isSettled(ann) == true)
    }

    @Test func `a user of an id that many present finds their own registration`() async throws {
        let id = try given("1-1-1")
        let found = try await store.changeDevices { [self] table in
            for number in 0..<150 {
                let wantedHolder = RegisteredDevice.Holder(user: "u\(number)", handle: handle("\(number)"))
                try table.want(wantedHolder, of: key("2-2-\(number)"), at: 0)
                try table.settle(wantedHolder, of: key("2-2-\(number)"), at: 0)
                try table.setAlias(id, user: wantedHolder.user, to: key("2-2-\(number)"), at: 0)
            }
            return try (0..<150).map { try table.find(id, user: "u\($0)", handle: handle("FF")) }
        }
        let ids = found.map { finding in
            if case .device(let device) = finding { device.key.id } else { "" }
        }
        #expect(ids == (0..<150).map { "2-2-\($0)" })
    }

    @Test func `what is done for each request goes through no table`() async throws {
        let holder = RegisteredDevice.Holder(user: "ann", handle: handle("AA"))
        let id = try given("1-1-1")
        let key = key("2-2-2")
        let handle = handle("AA")
        try await QueryPlans.check(store) { db in
            let table = DeviceTable(db: db)
            try table.reserve(key, for: holder, limit: 50, at: 0)
            try table.want(holder, of: key, at: 0)
            try table.settle(holder, of: key, at: 0)
            try table.restore(try table.device(key), of: key)
            try table.noteRefusal(id, user: "ann", at: 0)
            try table.setAlias(id, user: "ann", to: key, at: 0)
            _ = try table.hasAlias(id, user: "ann", to: key)
            _ = try table.makeRoomForAlias(id, user: "ann")
            _ = try table.excessDevice(of: "ann", limit: 1)
            _ = try table.find(id, user: "ann", handle: handle)
            _ = try table.own(id, user: "ann")
            _ = try table.registrations(of: "ann", handle: handle)
            _ = try table.devices(of: "ann")
            _ = try table.devices(with: handle, ofOthersThan: "bob", limit: 10)
            try table.noteLateCall(of: key, at: 0)
            try table.remove(key)
        }
    }
}
