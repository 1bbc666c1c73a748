package import HubProtocol
import OutboundHTTP

/// An installation as a hub stores it.
package struct FoundInstallation: Sendable, Equatable {
    /// The installation, without its push channel for platform `stream`, which is a secret.
    package let installation: Installation
    /// True if the push channel that the call named is the installation's.
    package let hasSameChannel: Bool
}

/// Single registrations and installations, as an app back end changes them.
extension HubClient {
    /// Requests an unused registration id; nothing is stored under it yet.
    package func newRegistrationID() async throws(HubClientError) -> RegistrationID {
        let reply = try await succeed(HubCall("POST", "/registrationids/"))
        let location = reply.headers["Location"]?.prefix { $0 != "?" && $0 != "#" }
        guard let id = location?.split(separator: "/").last.flatMap({ try? RegistrationID(String($0)) }) else {
            throw .malformedReply("the new registration id is missing")
        }
        return id
    }

    /// Creates or overwrites a registration.
    ///
    /// - Throws: ``HubClientError/refused(status:code:detail:retryAfter:)`` with 410 for an id that cannot be used again.
    package func put(_ registration: Registration) async throws(HubClientError) {
        var call = HubCall("PUT", "/registrations/\(HubCall.segment(registration.id.text))")
        call.contentType = "application/atom+xml;type=entry;charset=utf-8"
        call.body = registration.encodedEntry
        try await succeed(call)
    }

    /// Deletes a registration, whatever its ETag.
    ///
    /// - Returns: `false` when the hub has none of this id.
    @discardableResult
    package func delete(_ id: RegistrationID) async throws(HubClientError) -> Bool {
        var call = HubCall("DELETE", "/registrations/\(HubCall.segment(id.text))")
        call.headers = [("If-Match", "*")]
        return try await succeed(call, unless: [404]) != nil
    }

    /// Reads an installation.
    ///
    /// Needs Manage for one of platform `stream` with another push channel than `channel`.
    ///
    /// - Returns: `nil` when the hub has none of this id.
    package func installation(
        _ id: InstallationID,
        comparing channel: PushChannel
    ) async throws(HubClientError) -> FoundInstallation? {
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
            : installation.pushChannel.map { $0.isSameAddress(as: channel) } ?? false
        return FoundInstallation(installation: installation, hasSameChannel: isMatch)
    }
}
