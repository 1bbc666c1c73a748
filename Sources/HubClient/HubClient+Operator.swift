package import HubProtocol
import OutboundHTTP

/// Reports of our own hubs for operators; all of them need Manage.
extension HubClient {
    package func overview() async throws(HubError) -> HubOverview {
        let reply = try await succeed(HubCall("GET", "/overview"), orUnsupported: HubCall.absentPlainRoute)
        return try decode(HubOverview.self, from: reply, as: "the overview")
    }

    package func newestMessages(_ count: Int) async throws(HubError) -> [MessageReport] {
        try await messages([("last", "\(count)")])
    }

    package func messages(before place: LogSequence, count: Int) async throws(HubError) -> [MessageReport] {
        try await messages([("before", "\(place)"), ("last", "\(count)")])
    }

    package func scheduledMessages(_ count: Int) async throws(HubError) -> [MessageReport] {
        try await messages([("state", "scheduled"), ("last", "\(count)")])
    }

    package func streamInstallations(
        with tag: Tag?,
        from start: String?,
        count: Int
    ) async throws(HubError) -> InstallationList {
        var call = HubCall("GET", "/installations")
        call.query = [("platform", Platform.stream.rawValue), ("top", "\(count)")]
        if let tag { call.query.append(("tag", tag.text)) }
        if let start { call.query.append(("from", start)) }
        let reply = try await succeed(call, orUnsupported: [404, 405])
        return try decode(InstallationList.self, from: reply, as: "the list of installations")
    }

    private func messages(_ query: [(name: String, value: String)]) async throws(HubError) -> [MessageReport] {
        var call = HubCall("GET", "/deliveries")
        call.query = query
        let reply = try await succeed(call, orUnsupported: HubCall.absentRoute)
        return try decode(MessageReports.self, from: reply, as: "the list of messages").messages
    }
}
