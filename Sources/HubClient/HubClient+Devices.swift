package import HubProtocol
import OutboundHTTP

/// Single registrations and installations, as an app back end changes them.
extension HubClient {
    package func newRegistrationID() async throws(HubError) -> RegistrationID {
        let reply = try await succeed(HubCall("POST", "/registrationids/"))
        guard let id = reply.createdID.flatMap({ try? RegistrationID($0) }) else {
            throw .malformedReply("the new registration id is missing")
        }
        return id
    }

    package func put(_ registration: Registration) async throws(HubError) {
        var call = HubCall("PUT", "/registrations/\(HubCall.segment(registration.id.text))")
        call.contentType = "application/atom+xml;type=entry;charset=utf-8"
        call.body = registration.encodedEntry
        try await succeed(call)
    }

    @discardableResult
    package func delete(_ id: RegistrationID) async throws(HubError) -> Bool {
        var call = HubCall("DELETE", "/registrations/\(HubCall.segment(id.text))")
        call.headers = [("If-Match", "*")]
        return try await succeed(call, unless: [404]) != nil
    }

    package func installation(
        _ id: InstallationID,
        comparing channel: PushChannel?
    ) async throws(HubError) -> FoundInstallation? {
        var call = HubCall("GET", path(id))
        if case .handle(let text) = channel { call.channel = try? PushChannelSecret(text) }
        guard let reply = try await succeed(call, unless: [404]) else { return nil }
        let installation: Installation
        do {
            installation = try Installation(json: reply.body, as: .reply)
        } catch {
            throw .malformedReply("the installation cannot be read: \(error.detail)")
        }
        let isMatch =
            installation.platform == .stream
            ? reply.headers[HeaderName.pushChannelMatch] == "true"
            : channel.map { installation.pushChannel?.isSameAddress(as: $0) ?? false } ?? false
        return FoundInstallation(installation: installation, hasSameChannel: isMatch)
    }
}
