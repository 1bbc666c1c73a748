package import FoundationEssentials
package import HubProtocol
import OutboundHTTP

/// One hub, ours or any other that speaks the Notification Hubs protocol.
///
/// Requests carry a token signed for the hub. Redirects are not followed: no hub sends them, and the token should not
/// travel.
package struct HubClient: Sendable {
    let hubURL: String
    let tokens: TokenSource
    let http: any HubTransport
    let certificateAuthorities: String?
    var now: @Sendable () -> Date = { Date() }

    /// The hub's address, for messages; it contains no secret.
    package var address: String { hubURL }
}

extension HubClient {
    /// Creates a client with the base address and key of a connection.
    ///
    /// `allowPlainHTTP` permits `http` to a host that is not this machine, and `certificateAuthorities` is a PEM file
    /// that replaces the system's authorities.
    ///
    /// - Throws: ``HubProtocol/ConnectionStringError`` if the connection string's endpoint must not or cannot be
    ///   called.
    package init(
        connection: ConnectionString,
        hub: HubName,
        http: any HubTransport,
        allowPlainHTTP: Bool = false,
        certificateAuthorities: String? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(ConnectionStringError) {
        let url = "\(try connection.baseURL(allowingPlainHTTP: allowPlainHTTP))/\(hub.text)"
        self.init(
            hubURL: url,
            tokens: TokenSource(resource: url, connection: connection),
            http: http,
            certificateAuthorities: certificateAuthorities,
            now: now
        )
    }

    /// A client whose key can change from call to call.
    ///
    /// - Parameters:
    ///   - hub: The hub's name.
    ///   - baseURL: The address of its server, without a slash at the end.
    ///   - transport: Carries the calls.
    ///   - key: Called for each call; a call without a key is refused by the hub.
    package init(
        hub: HubName,
        at baseURL: String,
        through transport: any HubTransport,
        signedWith key: @escaping @Sendable () -> SigningKey?
    ) {
        let url = "\(baseURL)/\(hub.text)"
        self.init(
            hubURL: url,
            tokens: TokenSource(resource: url, key: key),
            http: transport,
            certificateAuthorities: nil
        )
    }
}

// MARK: - Installations

extension HubClient {
    /// Creates or overwrites an installation.
    ///
    /// `channel` is the secret of the existing `stream` installation, if there is one (protocol §11.1); without it an
    /// overwrite is refused with 409.
    package func put(
        _ installation: Installation,
        channel: PushChannelSecret? = nil
    ) async throws(HubClientError) {
        var call = HubCall("PUT", path(installation.id))
        call.body = Array(installation.encodedJSON(as: .request).utf8)
        call.channel = channel
        try await succeed(call)
    }

    /// - Returns: `false` when the hub said that there was none; some hubs answer the same in both cases.
    @discardableResult
    package func delete(
        _ id: InstallationID,
        channel: PushChannelSecret? = nil
    ) async throws(HubClientError) -> Bool {
        var call = HubCall("DELETE", path(id))
        call.channel = channel
        return try await succeed(call, unless: [404]) != nil
    }

    func path(_ id: InstallationID) -> String {
        "/installations/\(HubCall.segment(id.text))"
    }
}

// MARK: - Our own routes, absent elsewhere

extension HubClient {
    /// - Returns: `nil` where the hub has no such route.
    package func categories() async throws(HubClientError) -> [String]? {
        guard let reply = try await succeed(HubCall("GET", "/categories"), unless: HubCall.absentPlainRoute) else {
            return nil
        }
        return try decode(CategoryList.self, from: reply, as: "the list of categories").categories
    }

    /// The key that browsers subscribe with.
    ///
    /// - Returns: `nil` where the hub has none.
    package func browserKey() async throws(HubClientError) -> BrowserKeyReport? {
        guard let reply = try await succeed(HubCall("GET", "/browser-key"), unless: HubCall.absentPlainRoute) else {
            return nil
        }
        return try decode(BrowserKeyReport.self, from: reply, as: "the key for browsers")
    }

    /// Replaces the set of categories that this publisher announces.
    ///
    /// - Returns: `false` where the hub has no such route.
    @discardableResult
    package func setCategories(_ categories: [String], publisher: String) async throws(HubClientError) -> Bool {
        var call = HubCall("PUT", "/categories/\(HubCall.segment(publisher))")
        call.body = try encode(CategoryList(categories: categories))
        return try await succeed(call, unless: HubCall.absentRoute) != nil
    }

    /// Counts the devices that match a tag expression, without sending.
    ///
    /// - Returns: `nil` where the hub has no such route.
    package func recipients(
        tags: String,
        format: MessageFormat = .template
    ) async throws(HubClientError) -> RecipientCounts? {
        var call = HubCall("POST", "/recipients")
        call.body = try encode(RecipientQuery(tags: tags, format: format == .template ? nil : format))
        guard let reply = try await succeed(call, unless: HubCall.absentRoute) else { return nil }
        return try decode(RecipientCounts.self, from: reply, as: "the count of recipients")
    }

    /// Reports the outcome of a message.
    ///
    /// With `device`, an installation's id or a push handle, it also reports why that device got the message or not.
    ///
    /// Needs Manage.
    ///
    /// - Throws: ``HubClientError/refused(status:code:detail:retryAfter:)`` with 404 when the hub does not keep the
    ///   message, or has no such route.
    package func report(
        on id: MessageID,
        device: String? = nil
    ) async throws(HubClientError) -> MessageReport {
        var call = HubCall("GET", "/deliveries/\(HubCall.segment(id.text))")
        if let device { call.query = [("device", device)] }
        return try decode(MessageReport.self, from: try await succeed(call), as: "the report")
    }

    /// The targets of push services that did not get a message; `from` is the next page's start, from the previous
    /// page.
    ///
    /// Needs Manage.
    package func failures(
        of id: MessageID,
        from: String? = nil,
        count: Int? = nil
    ) async throws(HubClientError) -> FailedTargets {
        var call = HubCall("GET", "/deliveries/\(HubCall.segment(id.text))/failures")
        if let from { call.query.append(("from", from)) }
        if let count { call.query.append(("last", "\(count)")) }
        return try decode(FailedTargets.self, from: try await succeed(call), as: "the list of failed targets")
    }

    /// The notifications that an emulated push service would have shown on a device, as JSON.
    ///
    /// Needs Manage.
    ///
    /// - Throws: ``HubClientError/refused(status:code:detail:retryAfter:)`` with 404 when the hub does not emulate.
    package func emulatedInbox(of handle: String) async throws(HubClientError) -> [UInt8] {
        var call = HubCall("GET", "/emulator/inbox")
        call.query = [("handle", handle)]
        return try await succeed(call).body
    }

    /// Reports the state of the hub's credentials for push services; with `asking`, each service is asked.
    ///
    /// Needs Manage.
    package func credentials(asking: Bool) async throws(HubClientError) -> CredentialReport {
        let call = asking ? HubCall("POST", "/credentials/test") : HubCall("GET", "/credentials")
        return try decode(CredentialReport.self, from: try await succeed(call), as: "the report on credentials")
    }

    /// The newest messages, newest first.
    ///
    /// Needs Manage.
    package func newestMessages(_ count: Int) async throws(HubClientError) -> [MessageReport] {
        var call = HubCall("GET", "/deliveries")
        call.query = [("last", "\(count)")]
        return try decode(MessageReports.self, from: try await succeed(call), as: "the list of messages").messages
    }
}
