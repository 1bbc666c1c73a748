import AppBackend
import Formats
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
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
        let hub = request.hub
        guard hub.browserDelivery == .ready, let key = try await hub.browserKey()?.publicKey else {
            return ReaderRoutes.status(.notFound)
        }
        return PageHeaders.json(["publicKey": JSONText(key)])
    }

    private static func subscribe(_ request: PageRequest) async throws -> Response {
        try request.checkOrigin()
        guard let visitor = try await request.visitor else { return ReaderRoutes.status(.unauthorized) }
        try request.admitChange(of: visitor.session)
        let body: [UInt8]
        do {
            body = try await request.request.bytes(limit: maximumBody)
        } catch is ProtocolError {
            return ReaderRoutes.status(.contentTooLarge)
        } catch let fault as RequestFault {
            return ReaderRoutes.status(.init(code: fault.refusal.status))
        }
        guard let subscription = try? JSONReader.read(body), subscription["keys"] != nil,
            let channel = BrowserPushChannel(subscription)
        else { return ReaderRoutes.status(.badRequest) }
        do {
            guard try await store(channel, request) else { return ReaderRoutes.status(.unauthorized) }
        } catch HubError.refused(400, _, _, _) {
            return ReaderRoutes.status(.badRequest)
        } catch let refusal as BackendRefusal where refusal.status.kind == .clientError {
            return ReaderRoutes.status(refusal.status)
        }
        return ReaderRoutes.status(.noContent)
    }

    /// Stores a subscription in the pages' database, then at the hub: an unrecorded one could not be removed.
    ///
    /// - Returns: False if the session has ended.
    private static func store(_ channel: BrowserPushChannel, _ request: PageRequest) async throws -> Bool {
        let losers = try await request.changing { request, visitor -> [Int64]? in
            guard var visitor else { return nil }
            let (store, registrar, former) = (request.pages.store, request.registrar, visitor.session)
            let (browser, losers) = try await store.subscribe(channel, former, hub: request.hub.name)
            guard let browser else { return nil }
            visitor.session.browserInstallation = browser.installation
            visitor.session.browser = browser
            do {
                try await request.registering(visitor) { [visitor] in
                    try await registrar.register(
                        browser,
                        of: visitor.session,
                        as: visitor.caller?.name,
                        request.context.client
                    )
                }
            } catch {
                if former.browser != browser { try? await store.setSubscription(former.browser, of: former) }
                throw error
            }
            return losers
        }
        // Each in its own turn, and after this one has ended: two sessions that wait for each other would wait for ever.
        for id in losers ?? [] { try await request.registrar.removeUnsubscribedBrowser(ofSession: id) }
        return losers != nil
    }

    private static func unsubscribe(_ request: PageRequest) async throws -> Response {
        _ = try await request.form()
        return try await request.changing { request, visitor in
            guard let visitor else { return ReaderRoutes.status(.unauthorized) }
            try await request.registrar.removeBrowser(of: visitor.session)
            try await request.pages.store.setSubscription(nil, of: visitor.session)
            return ReaderRoutes.status(.noContent)
        }
    }
}
