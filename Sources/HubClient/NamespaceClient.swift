package import HubProtocol
package import OutboundHTTP

/// The hubs of a namespace, ours or any other that speaks the Notification Hubs protocol: creating, listing and
/// deleting.
///
/// Needs a rule of the namespace with Manage.
package struct NamespaceClient: Sendable {
    /// The number of hubs of one page; a description with all its credentials may be large.
    private static let page = 20
    /// The largest number of pages to read; no namespace has that many hubs.
    private static let maximumPages = 500

    private let client: HubClient
    private let base: String

    /// As ``HubClient/init(connection:hub:http:allowPlainHTTP:certificateAuthorities:now:)``.
    package init(
        connection: ConnectionString,
        http: OutboundClient,
        allowPlainHTTP: Bool = false,
        certificateAuthorities: String? = nil
    ) throws(ConnectionStringError) {
        base = try connection.baseURL(allowingPlainHTTP: allowPlainHTTP)
        client = HubClient(
            hubURL: base,
            tokens: TokenSource(resource: base + "/", connection: connection),
            http: http,
            certificateAuthorities: certificateAuthorities
        )
    }

    /// The namespace's address, for messages; it contains no secret.
    package var address: String { base }

    package func hubs() async throws(HubError) -> [HubSummary] {
        var hubs: [HubSummary] = []
        for _ in 0..<Self.maximumPages {
            let query = [(name: "$skip", value: "\(hubs.count)"), ("$top", "\(Self.page)")]
            let call = HubCall("GET", "/$Resources/NotificationHubs", query: query)
            let page = try read(try await client.succeed(call))
            hubs += page
            if page.count < Self.page { break }
        }
        return hubs
    }

    /// A new hub, from its server's reply.
    package struct CreatedHub: Sendable {
        /// The hub's description, with the keys of its rules.
        package let summary: HubSummary
        /// `sb://host:port/`, where other machines reach the server; `nil` if the server does not report it.
        package let publicEndpoint: String?
    }

    /// Creates a hub with the standard rules.
    ///
    /// - Throws: ``HubError/refused(status:code:detail:retryAfter:)`` with 409 when it exists.
    package func create(
        _ name: HubName,
        registrationTimeToLive: RegistrationTimeToLive = .unlimited
    ) async throws(HubError) -> CreatedHub {
        let description = NotificationHubDescription(registrationTimeToLive: registrationTimeToLive)
        var call = HubCall("PUT", "/\(HubCall.segment(name.text))")
        call.contentType = "application/atom+xml;type=entry;charset=utf-8"
        call.body = Array(
            """
            <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\(description.xml)</content></entry>
            """.utf8
        )
        let reply = try await client.succeed(call)
        guard let hub = try read(reply).first else {
            throw .malformedReply("the new hub's description is missing")
        }
        return CreatedHub(summary: hub, publicEndpoint: reply.headers[HeaderName.publicEndpoint])
    }

    /// - Returns: `false` when there was none.
    package func delete(_ name: HubName) async throws(HubError) -> Bool {
        try await client.succeed(HubCall("DELETE", "/\(HubCall.segment(name.text))"), unless: [404]) != nil
    }

    private func read(_ reply: OutboundResponse) throws(HubError) -> [HubSummary] {
        do throws(ProtocolError) {
            return try HubSummary.read(reply.body)
        } catch {
            throw .malformedReply("the descriptions of hubs cannot be read: \(error.detail)")
        }
    }
}
