import Foundation
import HubProtocol
import HubRouting
import Hummingbird
import PushServices

/// The state of a hub's credentials for push services: an extension that Azure does not have.
enum CredentialRoutes {
    static let routes = [
        Route(method: .get, path: "/credentials", right: .manage) { request, _ in
            try reply(CredentialLookup(hub: request.hub).report())
        },
        Route(method: .post, path: "/credentials/test", right: .manage, staysHere: true) { request, _ in
            if let wait = request.hub.testSends.rate.admit(request.hub.record.id) {
                throw ProtocolError.tooManyRequests("Test sends and tests of credentials are too frequent.", wait: wait)
            }
            return try reply(await CredentialLookup(hub: request.hub).test())
        },
        Route(method: .get, path: "/browser-key", right: .listen, isForWebApps: true) { request, _ in
            try browserKey(of: request.hub)
        },
        Route(method: .post, path: "/browser-key", right: .manage) { request, _ in
            let services = request.hub.configuration.pushServices
            guard !(services.standing + request.hub.status.credentials).contains(where: { $0.kind == .browser }) else {
                throw ProtocolError.conflict("The hub has a BrowserCredential; change the key there.")
            }
            try await BrowserKeys.rotate(request.hub)
            return try browserKey(of: request.hub)
        },
    ]

    private static func browserKey(of hub: Hub) throws -> Response {
        // Browsers would subscribe with a key of which they never get a message.
        if case .unusable(let reason) = BrowserKeys.delivery(of: hub) {
            throw ProtocolError.notFound("The hub's credential for browsers cannot be used: \(reason)")
        }
        guard let key = BrowserKeys.publicKey(of: hub) else {
            throw ProtocolError.notFound("The hub has no key for browsers: it does not deliver to them.")
        }
        let report = BrowserKeyReport(keyID: VapidKeyID.of(publicKey: key), publicKey: Base64URL.encode(key))
        return .json([UInt8](try JSONEncoder.sorted.encode(report)))
    }

    private static func reply(_ report: CredentialReport) throws -> Response {
        .json([UInt8](try JSONEncoder.sorted.encode(report)))
    }
}
