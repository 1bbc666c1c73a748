package import HubProtocol
import OutboundHTTP

/// Reports of our own hubs for operators; all of them need Manage.
extension HubClient {
    /// The hub at a glance.
    package func overview() async throws(HubClientError) -> HubOverview {
        try decode(HubOverview.self, from: try await succeed(HubCall("GET", "/overview")), as: "the overview")
    }

    /// The newest messages before a position in the log, newest first.
    package func messages(before place: LogSequence, count: Int) async throws(HubClientError) -> [MessageReport] {
        try await messages([("before", "\(place)"), ("last", "\(count)")])
    }

    /// The scheduled messages, the next one first.
    package func scheduledMessages(_ count: Int) async throws(HubClientError) -> [MessageReport] {
        try await messages([("state", "scheduled"), ("last", "\(count)")])
    }

    /// Agents and readers' pages, with a tag if one is given; a page may be empty before the last one.
    ///
    /// - Returns: `nil` from a hub other than newswire.
    package func streamInstallations(
        with tag: Tag? = nil,
        from start: String? = nil,
        count: Int = InstallationList.maximumListed
    ) async throws(HubClientError) -> InstallationList? {
        var call = HubCall("GET", "/installations")
        call.query = [("platform", Platform.stream.rawValue), ("top", "\(count)")]
        if let tag { call.query.append(("tag", tag.text)) }
        if let start { call.query.append(("from", start)) }
        guard let reply = try await succeed(call, unless: [404, 405]) else { return nil }
        return try decode(InstallationList.self, from: reply, as: "the list of installations")
    }

    /// An installation of any platform; without its push channel for platform `stream`, which is a secret.
    ///
    /// - Returns: `nil` when the hub has none of this id.
    package func installation(_ id: InstallationID) async throws(HubClientError) -> Installation? {
        guard let reply = try await succeed(HubCall("GET", path(id)), unless: [404]) else { return nil }
        do {
            return try Installation(json: reply.body, as: .reply)
        } catch {
            throw .malformedReply("the installation cannot be read: \(error.detail)")
        }
    }

    private func messages(_ query: [(name: String, value: String)]) async throws(HubClientError) -> [MessageReport] {
        var call = HubCall("GET", "/deliveries")
        call.query = query
        return try decode(MessageReports.self, from: try await succeed(call), as: "the list of messages").messages
    }
}
