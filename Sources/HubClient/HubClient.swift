package import FoundationEssentials
package import HubProtocol
package import OutboundHTTP

/// One hub, ours or any other that speaks the Notification Hubs protocol.
///
/// Requests carry a token signed for the hub. Redirects are not followed: no hub sends them, and the token should not
/// travel.
package struct HubClient: NotificationHub {
    let hubURL: String
    let tokens: TokenSource
    let http: OutboundClient
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
        http: OutboundClient,
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
}

// MARK: - Installations

extension HubClient {
    package func put(_ installation: Installation, channel: PushChannelSecret?) async throws(HubError) {
        var call = HubCall("PUT", path(installation.id))
        call.body = Array(installation.encodedJSON(as: .request).utf8)
        call.channel = channel
        try await succeed(call)
    }

    @discardableResult
    package func delete(_ id: InstallationID, channel: PushChannelSecret?) async throws(HubError) -> Bool {
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
    package func categories() async throws(HubError) -> [String] {
        let call = HubCall("GET", "/categories")
        let list: CategoryList =
            try await read(call, as: "the list of categories", orUnsupported: HubCall.absentPlainRoute)
        return list.categories
    }

    package func browserKey() async throws(HubError) -> BrowserKeyReport? {
        guard let reply = try await succeed(HubCall("GET", "/browser-key"), unless: HubCall.absentPlainRoute) else {
            return nil
        }
        return try HubError.decode(reply, as: "the key for browsers")
    }

    package func setCategories(_ categories: [String], publisher: String) async throws(HubError) {
        let path = "/categories/\(HubCall.segment(publisher))"
        let call = try HubCall("PUT", path, json: CategoryList(categories: categories))
        try await succeed(call, orUnsupported: HubCall.absentRoute)
    }

    package func recipients(tags: String, format: MessageFormat) async throws(HubError) -> RecipientCounts {
        let query = RecipientQuery(tags: tags, format: format == .template ? nil : format)
        let call = try HubCall("POST", "/recipients", json: query)
        return try await read(call, as: "the count of recipients", orUnsupported: HubCall.absentRoute)
    }

    package func report(on id: MessageID, device: String?) async throws(HubError) -> MessageReport {
        var call = HubCall("GET", "/deliveries/\(HubCall.segment(id.text))")
        if let device { call.query = [("device", device)] }
        return try await read(call, as: "the report")
    }

    package func failures(of id: MessageID, from: String?, count: Int?) async throws(HubError) -> FailedTargets {
        var call = HubCall("GET", "/deliveries/\(HubCall.segment(id.text))/failures")
        if let from { call.query.append(("from", from)) }
        if let count { call.query.append(("last", "\(count)")) }
        return try await read(call, as: "the list of failed targets")
    }

    /// The notifications that an emulated push service would have shown on a device, as JSON; needs Manage.
    ///
    /// - Throws: ``HubError/refused(status:code:detail:retryAfter:)`` with 404 when the hub does not emulate.
    package func emulatedInbox(of handle: String) async throws(HubError) -> [UInt8] {
        try await succeed(HubCall("GET", "/emulator/inbox", query: [("handle", handle)])).body
    }

    package func credentials(asking: Bool) async throws(HubError) -> CredentialReport {
        let call = asking ? HubCall("POST", "/credentials/test") : HubCall("GET", "/credentials")
        return try await read(call, as: "the report on credentials", orUnsupported: HubCall.absentPlainRoute)
    }
}
