import AppBackend
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

/// The routes of a user's devices.
enum DeviceRoutes {
    static let routes = [
        PageRoute(.get, "/devices") { try await list($0) },
        PageRoute(.post, "/devices/remove") { try await remove($0) },
    ]

    private static func list(_ request: PageRequest) async throws -> Response {
        guard let user = try await request.signedIn() else { return request.seeOther("\(request.home)sign-in") }
        // Reading each device is a call to the hub.
        try request.admitChange(of: user.visitor.session)
        let frame = request.frame(for: user.visitor)
        let devices = try await user.backend.devices(of: user.caller.name).map { device in
            DevicesPage.Device(
                kind: device.record.kind.rawValue,
                id: device.record.id,
                platform: device.platform,
                categories: device.tags,
                changedAt: device.record.changedAt,
                isConfirmed: device.record.isConfirmed,
                isOwn: user.visitor.session.has(device.record),
                frame: frame
            )
        }
        return request.page(DevicesPage(frame: frame, devices: devices))
    }

    private static func remove(_ request: PageRequest) async throws -> Response {
        let form = try await request.form()
        guard let user = try await request.signedIn() else { return request.seeOther("\(request.home)sign-in") }
        try request.admitChange(of: user.visitor.session)
        if let kind = DeviceRecord.Kind(rawValue: form["kind"] ?? ""), let id = form["id"] {
            // If it is another browser of the user, it would otherwise register itself again.
            if kind == .installation {
                try await request.pages.store.signOut(of: user.caller.name, installation: id, hub: request.hub.name)
            }
            try await user.backend.removeDevice(kind, id, of: user.caller.name)
        }
        return request.seeOther("\(request.home)devices")
    }
}

extension ReaderSession {
    /// True if the device belongs to this session's browser.
    fileprivate func has(_ device: DeviceRecord) -> Bool {
        device.kind == .installation
            && [installation.folded, browser?.installation.folded].contains(device.id)
    }
}

/// A reader who is signed in.
struct SignedInReader: Sendable {
    let visitor: Visitor
    let caller: Caller
    let backend: AppBackend
}

extension PageRequest {
    /// The signed-in reader; `nil` without one.
    ///
    /// - Throws: 404 if nobody can sign in.
    func signedIn() async throws -> SignedInReader? {
        guard let backend = try await backend else { throw PageRefusal.notFound }
        guard let visitor = try await visitor, let caller = visitor.caller else { return nil }
        return SignedInReader(visitor: visitor, caller: caller, backend: backend)
    }
}
