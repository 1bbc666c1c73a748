import AppBackend
import Formats
import Foundation
import HTTPTypes
import HubClient
import HubProtocol
import Hummingbird
import NIOCore
import WebPages

/// Web Push for the page's script: the hub's key, and the browser's subscription.
enum PushRoutes {
    /// The largest subscription in bytes; those of browsers have less than 1,000.
    private static let maximumBody = 8_192

    static let routes = [
        PageRoute(.get, "/push") { try await key($0) },
        PageRoute(.put, "/push") { try await subscribe($0) },
        PageRoute(.delete, "/push") { try await unsubscribe($0) },
    ]

    private static func key(_ request: PageRequest) async throws -> Response {
        guard try await request.visitor != nil else { return ReaderRoutes.status(.unauthorized) }
        guard let key = try await request.hub.browserKey() else { return ReaderRoutes.status(.notFound) }
        var headers = PageHeaders.common("application/json; charset=utf-8")
        headers[.cacheControl] = "no-store"
        let body = JSONText.object([("publicKey", JSONText.string(key))])
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(string: body)))
    }

    /// The JSON of a `PushSubscription`.
    private struct Subscription: Decodable {
        struct Keys: Decodable {
            let p256dh: String
            let auth: String
        }

        let endpoint: String
        let keys: Keys
    }

    private static func subscribe(_ request: PageRequest) async throws -> Response {
        try request.checkOrigin()
        guard let visitor = try await request.visitor else { return ReaderRoutes.status(.unauthorized) }
        try request.admitChange(of: visitor.session)
        guard let body = try? await request.request.body.collect(upTo: maximumBody) else {
            return ReaderRoutes.status(.contentTooLarge)
        }
        guard
            let subscription = try? JSONReader.decode(Subscription.self, from: Array(body.readableBytesView))
        else { return ReaderRoutes.status(.badRequest) }
        let channel = BrowserPushChannel(
            endpoint: subscription.endpoint,
            p256dh: subscription.keys.p256dh,
            auth: subscription.keys.auth
        )
        do {
            try await store(channel, of: visitor, request)
        } catch HubClientError.refused(400, _, _, _) {
            return ReaderRoutes.status(.badRequest)
        } catch let refusal as BackendRefusal where refusal.status.kind == .clientError {
            return ReaderRoutes.status(refusal.status)
        }
        return ReaderRoutes.status(.noContent)
    }

    /// Stores a subscription at the hub, then in the pages' database.
    private static func store(
        _ channel: BrowserPushChannel,
        of visitor: Visitor,
        _ request: PageRequest
    ) async throws {
        let (session, registrar) = (visitor.session, request.registrar)
        let id = try session.browser?.installation ?? InstallationID("browser-\(UUID().uuidString.lowercased())")
        let browser = SessionBrowser(installation: id, channel: channel)
        // Record it first: an unrecorded subscription could not be removed.
        if session.browser != browser { try await request.pages.store.setBrowser(browser, of: session) }
        // Otherwise the browser would show each message twice.
        for other in try await request.pages.store.others(with: browser, than: session, hub: request.hub.name) {
            if let former = other.browser { try await registrar.remove(former, of: other) }
            try await request.pages.store.setBrowser(nil, of: other)
        }
        var changed = visitor
        changed.session.browser = browser
        do {
            try await request.registering(changed) {
                try await registrar.register(browser, of: session, as: visitor.caller?.name, request.context)
            }
        } catch {
            if session.browser != browser { try? await request.pages.store.setBrowser(session.browser, of: session) }
            throw error
        }
    }

    private static func unsubscribe(_ request: PageRequest) async throws -> Response {
        _ = try await request.form()
        guard let visitor = try await request.visitor else { return ReaderRoutes.status(.unauthorized) }
        if let browser = visitor.session.browser {
            try await request.registrar.remove(browser, of: visitor.session)
            try await request.pages.store.setBrowser(nil, of: visitor.session)
        }
        return ReaderRoutes.status(.noContent)
    }
}
