import Formats
package import FoundationEssentials
package import HubProtocol
package import OutboundHTTP

/// An app backend, as one signed-in user calls it.
///
/// Redirects are not followed: the token should not travel.
package struct BackendClient: Sendable {
    /// Maximum time of a whole call; an app backend answers after its hub has answered.
    private static let callTimeout = Duration.seconds(30)
    /// A password is checked slowly, on purpose, and one at a time.
    private static let logInTimeout = Duration.seconds(120)
    /// Maximum size of a reply in bytes: a payload has 16 KB, and each byte may be an escape of six.
    private static let maximumReplyBytes = 256 << 10

    package let address: BackendAddress
    /// `nil` before a login; never logged.
    let token: String?
    private let http: OutboundClient
    private let certificateAuthorities: String?
    private let now: @Sendable () -> Date

    /// `certificateAuthorities` is a PEM file that replaces the system's authorities.
    package init(
        _ address: BackendAddress,
        token: String? = nil,
        http: OutboundClient,
        certificateAuthorities: String? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.address = address
        self.token = token
        self.http = http
        self.certificateAuthorities = certificateAuthorities
        self.now = now
    }

    // MARK: - Signing in

    package struct IssuedToken: Sendable, Equatable, Decodable {
        package let token: String
        /// In ISO 8601.
        package let expires: String
    }

    /// Exchanges a password for a token; `device` names it in lists.
    package func logIn(
        user: String,
        password: String,
        device: String
    ) async throws(BackendClientError) -> IssuedToken {
        let body: JSONText = [
            "device": JSONText(device), "password": JSONText(password), "user": JSONText(user),
        ]
        let reply = try await succeed("POST", "/api/login", body: body.text, timeout: Self.logInTimeout)
        let issued: IssuedToken = try BackendClientError.decode(reply, as: "the token")
        // It becomes a header.
        guard !issued.token.isEmpty, issued.token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .malformedReply("the token cannot be read")
        }
        return issued
    }

    /// Revokes the token.
    package func logOut() async throws(BackendClientError) {
        try await succeed("POST", "/api/logout")
    }

    // MARK: - Devices

    /// Stores an installation as the user's.
    package func put(_ installation: Installation) async throws(BackendClientError) {
        try await succeed("PUT", path(installation.id), body: installation.encodedJSON(as: .request))
    }

    /// Deletes an installation of the user's; installations of other users stay.
    package func delete(_ id: InstallationID) async throws(BackendClientError) {
        try await succeed("DELETE", path(id))
    }

    private func path(_ id: InstallationID) -> String { "/api/installations/\(HubCall.segment(id.text))" }

    // MARK: - Notifications

    private struct Outcomes: Decodable {
        let results: [PlatformOutcome]
    }

    /// Notifies a user by name on one platform, or on `all`.
    ///
    /// - Throws: ``BackendClientError/refused(status:reason:retryAfter:)`` if no platform has accepted it.
    package func notify(
        _ user: String,
        _ text: String,
        on platform: String
    ) async throws(BackendClientError) -> [PlatformOutcome] {
        let query = "?pns=\(HubCall.segment(platform))&to_tag=\(HubCall.segment(user))"
        return try await send(query, JSONText(text))
    }

    /// Sends the id of a text to all platforms of a user, who fetches the text.
    package func notifySecurely(
        _ user: String,
        _ text: String
    ) async throws(BackendClientError) -> [PlatformOutcome] {
        try await send("", ["payload": JSONText(text), "to": JSONText(user)])
    }

    private func send(_ query: String, _ body: JSONText) async throws(BackendClientError) -> [PlatformOutcome] {
        let reply = try await reply("POST", "/api/notifications\(query)", body: body.text)
        // If one platform failed and another accepted, the status is 502 and the body has the results.
        if reply.status == 200 || reply.status == 502,
            let outcomes = try? JSONReader.decode(Outcomes.self, from: reply.body)
        {
            return outcomes.results.map { result in
                PlatformOutcome(
                    platform: OneLine.text(result.platform),
                    outcome: OneLine.text(result.outcome),
                    reason: result.reason.map(OneLine.text)
                )
            }
        }
        throw reply.status == 200 ? .malformedReply("the results cannot be read") : refusal(reply)
    }

    private struct Fetched: Decodable {
        let payload: String

        private enum CodingKeys: String, CodingKey { case payload = "Payload" }
    }

    /// Fetches the text of a secure notification.
    ///
    /// - Returns: `nil` if the user has no notification with this id.
    package func payload(of id: Int64) async throws(BackendClientError) -> String? {
        do {
            let reply = try await succeed("GET", "/api/notifications/\(id)")
            let fetched: Fetched = try BackendClientError.decode(reply, as: "the notification")
            return fetched.payload
        } catch .refused(404, _, _) {
            return nil
        }
    }

    // MARK: - Calls

    @discardableResult
    private func succeed(
        _ method: String,
        _ target: String,
        body: String? = nil,
        timeout: Duration = callTimeout
    ) async throws(BackendClientError) -> OutboundResponse {
        let reply = try await reply(method, target, body: body, timeout: timeout)
        guard reply.status == 200 else { throw refusal(reply) }
        return reply
    }

    private func reply(
        _ method: String,
        _ target: String,
        body: String?,
        timeout: Duration = callTimeout
    ) async throws(BackendClientError) -> OutboundResponse {
        var headers = [("Accept", "application/json")]
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        if body != nil { headers.append(("Content-Type", "application/json")) }
        var request = OutboundRequest(
            method: method,
            url: address.url + target,
            headers: headers,
            body: body.map { Array($0.utf8) },
            totalTimeout: timeout,
            idleTimeout: timeout,
            maximumBodyBytes: Self.maximumReplyBytes,
            maximumRedirects: 0,
            addresses: .any
        )
        request.certificateAuthorities = certificateAuthorities
        do throws(OutboundError) {
            return try await http.send(request)
        } catch {
            throw BackendClientError(error)
        }
    }

    private func refusal(_ reply: OutboundResponse) -> BackendClientError {
        BackendClientError(reply, now: Int64(now().timeIntervalSince1970))
    }
}
