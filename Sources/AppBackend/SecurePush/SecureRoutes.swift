import Formats
import HTTPTypes
import HubProtocol
import Hummingbird
import WebEdge

/// The routes of secure push: sending the id of a payload, and fetching the payload (protocol §9).
enum SecureRoutes {
    static let routes = [
        BackendRoute(.get, "/api/notifications/:id") { request in try await fetch(request) }
    ]

    /// Answers `POST /api/notifications` without `pns`.
    static func push(_ request: BackendRequest, _ caller: Caller) async throws -> Response {
        let (backend, configuration) = (request.backend, request.backend.configuration)
        let wanted = try SecureRequest(
            try await request.request.bytes(limit: SecureRequest.maximumBytes),
            caller: caller.name,
            standard: configuration.secureText
        )
        let results = try await backend.push(wanted.payload, to: wanted.addressee, by: caller, request.network)
        return try results.response(asJSON: request.asksForJSON, log: backend.hubFailures)
    }

    private static func fetch(_ request: BackendRequest) async throws -> Response {
        let caller = try request.caller
        guard await request.context.client.isPrivate else {
            throw BackendRefusal.forbidden("Fetch secure notifications with https://.")
        }
        // The tutorials' client reads other text as 0, which goes through the same steps.
        let id = (try? request.context.parameter("id")).flatMap { Int64($0) } ?? 0
        let fetched = try await request.backend.fetchPayload(
            id,
            by: caller.name,
            request.network,
            isRead: request.request.method == .get
        )
        guard let fetched else {
            throw BackendRefusal.notFound("You have no notification with this id.")
        }
        return .json(
            ["Id": JSONText(id), "Payload": JSONText(fetched.text), "Read": JSONText(fetched.isRead)]
        )
    }
}

extension AppBackend {
    /// Stores a payload for a user, and sends its id to the user's devices on some platforms.
    ///
    /// - Throws: ``BackendRefusal`` for a caller who may not notify the user or does so too often, for a payload that
    ///   the store does not accept, and for a hub that does not report its platforms.
    func push(
        _ payload: String,
        to addressee: UserName,
        on platforms: PlatformChoice = .all,
        by caller: Caller,
        _ network: ClientNetwork
    ) async throws -> PlatformResults {
        try notifier.checkRight(of: caller, to: addressee)
        try notifier.admit(caller, to: addressee)
        let id = try await payloads.put(payload, for: addressee, from: caller.name)
        let notification = SecureNotification(
            id: id,
            alert: configuration.secureAlert,
            notice: configuration.secureNotice
        )
        let results: PlatformResults
        do {
            results = try await notifier.send(to: addressee, on: platforms) { notification.message(for: $0) }
        } catch {
            try await payloads.discard(id, of: addressee)
            throw error
        }
        if results.isAccepted {
            audit.note(AuditEvent(caller.name, .payloadSent, .done, network))
        } else if results.isUncertain {
            // Devices may have the id: a device that finds no payload shows nothing.
            audit.note(AuditEvent(caller.name, .payloadSent, .unconfirmed, network))
        } else {
            // The sender will retry with another id.
            try await payloads.discard(id, of: addressee)
        }
        return results
    }

    /// Fetches a payload of a user and records that in the audit log; `nil` if the user has no payload with this id.
    ///
    /// `isRead` is false for HEAD, whose client does not get the text.
    func fetchPayload(
        _ id: Int64,
        by user: UserName,
        _ network: ClientNetwork,
        isRead: Bool = true
    ) async throws -> SecurePayloads.Fetched? {
        let fetched: SecurePayloads.Fetched?
        do {
            fetched = try await payloads.fetch(id, by: user, isRead: isRead)
        } catch let problem as SecurePayloads.Unreadable {
            // The payload is lost: a client that is asked to retry would do so until it expires.
            payloads.noteUnreadable(problem)
            fetched = nil
        }
        if isRead || fetched == nil {
            audit.note(AuditEvent(user, .payloadFetched, fetched == nil ? .refused : .done, network))
        }
        return fetched
    }
}
