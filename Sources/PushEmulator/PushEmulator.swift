import Certificates
import Foundation
package import HubProtocol
package import Logging
import NetworkAddresses

/// A server on this machine that answers as APNs, FCM, WNS and Web Push do, and keeps the messages that each device
/// would have received.
///
/// All services share one origin and keep their own paths. The handle of a device may contain a fault. Nothing is
/// written to disk. `docs/push-emulator.md` lists the checks and the faults.
package final class PushEmulator: Sendable {
    private let server: EmulatorServer
    private let model: EmulatorModel
    /// The authority that signed the emulator's certificate, in PEM; a new one at each start.
    package let certificateAuthority: String

    private init(_ server: EmulatorServer, _ model: EmulatorModel, certificateAuthority: String) {
        self.server = server
        self.model = model
        self.certificateAuthority = certificateAuthority
    }

    /// Starts listening on the loopback interface.
    ///
    /// - Parameters:
    ///   - port: 0 for any free port. Channels and endpoints contain it.
    ///   - seed: 32 random bytes from which the keys of browser subscriptions are derived. With the same seed,
    ///     subscriptions made before a restart stay readable; `nil` makes a new one.
    ///   - limits: Bounds of the server and of the inboxes.
    ///   - logger: Gets a warning for each connection that could not be set up.
    ///   - now: The clock that tokens are checked against and deliveries are dated with.
    /// - Returns: The running emulator; call ``stop()`` when it is no longer needed.
    /// - Throws: If the port is taken or no certificate can be made.
    package static func start(
        port: Int = 0,
        seed: [UInt8]? = nil,
        limits: EmulatorLimits = EmulatorLimits(),
        logger: Logger = Logger(label: "newswire.emulator") { _ in SwiftLogNoOpLogHandler() },
        now: @escaping @Sendable () -> Timestamp
    ) async throws -> PushEmulator {
        let date = now().date
        let authority = try CertificateAuthority(host: "push emulator", now: date)
        let names = ["127.0.0.1", "localhost"].compactMap { HostName($0) }
        let model = EmulatorModel(browsers: EmulatedBrowserKeys(seed: seed), inbox: limits.inbox)
        let server = try await EmulatorServer.start(
            try authority.issue(for: names, now: date),
            port: port,
            ServerContext(model: model, limits: limits, now: now, logger: logger)
        )
        return PushEmulator(server, model, certificateAuthority: authority.certificateText)
    }

    /// Stops listening, closes all connections, and returns when they are closed; pending requests get no reply.
    package func stop() async { await server.stop() }

    package var port: Int { server.port }

    /// The origin for adapters to use instead of the services' own: `https://127.0.0.1:PORT`.
    package var origin: String { "https://127.0.0.1:\(port)" }

    /// Returns the URI of a WNS channel; every id is valid.
    package func channelURI(_ id: String) -> String { origin + EmulatedDevice.channelPath + id }

    /// Makes a push subscription as a browser would, with keys that the emulator can decrypt for.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of its id, such as `dead-` for a fault.
    ///   - senderKey: The only VAPID public key that may send to it, 65 bytes; `nil` allows every key.
    /// - Returns: The endpoint and keys, for a registration or installation.
    package func makeBrowserSubscription(prefix: String = "", senderKey: [UInt8]? = nil) -> BrowserPushChannel {
        let id = EmulatedBrowserKeys.makeID(prefix: prefix, senderKey: senderKey)
        return model.browsers.subscription(id).channel(endpoint: origin + EmulatedDevice.endpointPath + id)
    }
}

extension PushEmulator: EmulatedInboxes {
    package func inboxDocument(of handle: String) throws -> [UInt8] {
        try InboxDocument(handle: handle, deliveries: inbox(of: handle)).encoded()
    }

    package func makeBrowserSubscription() -> BrowserPushChannel { makeBrowserSubscription(prefix: "") }
}

// MARK: Faults

extension PushEmulator {
    /// Sets the fault of a device; `nil` restores the marker in its handle, if any.
    ///
    /// A handle that is not a URL names a device of every service.
    package func setFault(_ fault: PushFault?, forHandle handle: String) {
        for device in EmulatedDevice.named(handle) { model.set(fault, for: .device(device)) }
    }

    /// Sets the fault of all devices of a service that have none of their own.
    package func setFault(_ fault: PushFault?, for service: EmulatedService) {
        model.set(fault, for: .service(service))
    }

    /// Sets the fault of the token endpoint of FCM or WNS.
    package func setTokenFault(_ fault: PushFault?, for service: EmulatedService) {
        model.set(fault, for: .tokens(service))
    }

    /// Invalidates all access tokens issued so far.
    package func revokeAccessTokens() { model.revokeTokens() }
}

// MARK: Inboxes

extension PushEmulator {
    /// Returns the deliveries to a device that are still kept, oldest first.
    ///
    /// Only the path of a URL matters; the case of an APNs token does not.
    package func inbox(of handle: String) -> [EmulatedDelivery] { model.deliveries(to: EmulatedDevice.named(handle)) }

    package func clearInbox() { model.clearInbox() }
}
