package import HubProtocol
import OutboundHTTP

/// Reports of our own hubs for operators; all of them need Manage.
extension HubClient {
    package func overview() async throws(HubError) -> HubOverview {
        try await read(HubCall("GET", "/overview"), as: "the overview", orUnsupported: HubCall.absentPlainRoute)
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
        let query = [(name: "platform", value: Platform.stream.rawValue), ("top", "\(count)")]
        var call = HubCall("GET", "/installations", query: query)
        if let tag { call.query.append(("tag", tag.text)) }
        if let start { call.query.append(("from", start)) }
        return try await read(call, as: "the list of installations", orUnsupported: [404, 405])
    }

    private func messages(_ query: [(name: String, value: String)]) async throws(HubError) -> [MessageReport] {
        let call = HubCall("GET", "/deliveries", query: query)
        let reports: MessageReports =
            try await read(call, as: "the list of messages", orUnsupported: HubCall.absentRoute)
        return reports.messages
    }
}
