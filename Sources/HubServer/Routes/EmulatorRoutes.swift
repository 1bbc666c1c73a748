import Foundation
import HubProtocol
import Hummingbird
import WebEdge

/// The messages that emulated push services received: an extension, available only with `newswire hub --emulate`.
enum EmulatorRoutes {
    static let routes = [
        Route(method: .get, path: "/emulator/inbox", right: .manage) { request in
            let emulator = try emulator(request)
            guard let handle = request.query.literal("handle"), !handle.isEmpty else {
                throw ProtocolError.badRequest("'handle' must be the push handle of a device.")
            }
            return .json(try emulator.inboxDocument(of: handle))
        },
        // A browser of the emulator, which can decrypt its messages.
        Route(method: .post, path: "/emulator/subscription", right: .manage, staysHere: true) { request in
            let channel = try emulator(request).makeBrowserSubscription()
            let members = ["endpoint": channel.endpoint, "p256dh": channel.p256dh, "auth": channel.auth]
            return try .json(encoding: members)
        },
    ]

    private static func emulator(_ request: HubRequest) throws(ProtocolError) -> any EmulatedInboxes {
        guard let emulator = request.hub.configuration.emulator else {
            throw .notFound("This hub uses real push services; start it with --emulate to emulate them.")
        }
        return emulator
    }
}
