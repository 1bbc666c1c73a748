import Formats
import HTTPTypes
import HubProtocol
import Hummingbird
import WebEdge

/// Routes that register devices, as the tutorials' apps do (protocol §9), and installations.
enum RegisterRoutes {
    static let routes = [
        BackendRoute(.post, "/api/register") { request in
            let caller = try request.caller
            let text = try request.query["handle"] ?? ""
            let handle = try handle(text)
            let id = try await request.backend.devices.registrationID(for: caller.name, handle: handle)
            return .json(JSONText(id.text))
        },
        BackendRoute(.put, "/api/register/:id") { request in
            let caller = try request.caller
            let body = try await request.request.bytes(limit: WantedRegistration.maximumBytes)
            let wanted = try WantedRegistration(json: body, tags: request.backend.devices.tags)
            guard let id = GivenID(try request.context.parameter("id")) else {
                throw BackendRefusal.badRequest("The registration id in the path is not valid.")
            }
            try await request.backend.devices.put(wanted, given: id, for: caller.name, from: request.network)
            return .empty
        },
        BackendRoute(.delete, "/api/register/:id") { request in
            let caller = try request.caller
            guard let id = GivenID(try request.context.parameter("id")) else { return .empty }
            try await request.backend.devices.delete(given: id, for: caller.name)
            return .empty
        },
        BackendRoute(.put, "/api/installations/:id") { request in
            let caller = try request.caller
            let devices = request.backend.devices
            let body = try await request.request.bytes(limit: Installation.maximumBytes)
            let installation = try installation(body, try request.context.parameter("id"), devices)
            try await devices.put(installation, for: caller.name, from: request.network)
            return .empty
        },
        BackendRoute(.delete, "/api/installations/:id") { request in
            let caller = try request.caller
            guard let id = try? InstallationID(try request.context.parameter("id")) else { return .empty }
            try await request.backend.devices.delete(id, for: caller.name)
            return .empty
        },
    ]

    private static func handle(_ text: String) throws(BackendRefusal) -> HandleDigest? {
        if text.isEmpty { return nil }
        guard let channel = PushChannel(handle: text) else {
            throw .badRequest("The 'handle' in the query is not a push handle.")
        }
        return HandleDigest(channel)
    }

    private static func installation(
        _ body: [UInt8],
        _ id: String,
        _ devices: UserDevices
    ) throws(BackendRefusal) -> Installation {
        let installation: Installation
        do {
            // The server adds one tag.
            let maximumTags = devices.maximumTags - 1
            installation = try Installation(json: body, id: try InstallationID(id), maximumTags: maximumTags)
        } catch {
            throw BackendRefusal(error)
        }
        try devices.tags.check(installation)
        return installation
    }
}
