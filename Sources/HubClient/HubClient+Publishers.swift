import FoundationEssentials
package import HubProtocol

/// Reports of publishers: our own routes, absent at other hubs.
extension HubClient {
    /// Replaces the hub's report of a publisher.
    ///
    /// - Parameters:
    ///   - report: At most ``PublisherReport/maximumBytes`` as JSON.
    ///   - publisher: The name under which it announces its categories.
    ///   - timeout: For the whole call.
    /// - Returns: `false` where the hub has no such route.
    /// - Throws: The hub's refusal, or the failure of the call.
    package func report(
        _ report: PublisherReport,
        publisher: String,
        timeout: Duration
    ) async throws(HubClientError) -> Bool {
        var call = HubCall("PUT", path(publisher))
        call.body = try encode(report)
        call.timeout = timeout
        // Our own hub accepts the report, so a 400 is another hub's reply for an unknown route.
        return try await succeed(call, unless: HubCall.absentPlainRoute) != nil
    }

    /// The publishers that have reported in the last 7 days.
    ///
    /// Needs Manage.
    package func publishers() async throws(HubClientError) -> [PublisherSummary] {
        let reply = try await succeed(HubCall("GET", "/publishers"))
        return try decode(PublisherList.self, from: reply, as: "the list of publishers").publishers
    }

    /// The last report of a publisher.
    ///
    /// Needs Manage.
    package func publisher(_ name: String) async throws(HubClientError) -> PublisherStatus {
        let reply = try await succeed(HubCall("GET", path(name)))
        return try decode(PublisherStatus.self, from: reply, as: "the publisher's report")
    }

    private func path(_ publisher: String) -> String { "/publishers/\(HubCall.segment(publisher))" }
}
