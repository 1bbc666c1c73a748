import FoundationEssentials
package import HubProtocol

/// Reports of publishers: our own routes, absent at other hubs.
extension HubClient {
    package func report(
        _ report: PublisherReport,
        publisher: String,
        timeout: Duration
    ) async throws(HubError) {
        var call = HubCall("PUT", path(publisher))
        call.body = try encode(report)
        call.timeout = timeout
        // Our own hub accepts the report, so a 400 is another hub's reply for an unknown route.
        try await succeed(call, orUnsupported: HubCall.absentPlainRoute)
    }

    package func publishers() async throws(HubError) -> [PublisherSummary] {
        let reply = try await succeed(HubCall("GET", "/publishers"), orUnsupported: HubCall.absentPlainRoute)
        return try decode(PublisherList.self, from: reply, as: "the list of publishers").publishers
    }

    package func publisher(_ name: String) async throws(HubError) -> PublisherStatus {
        let reply = try await succeed(HubCall("GET", path(name)))
        return try decode(PublisherStatus.self, from: reply, as: "the publisher's report")
    }

    private func path(_ publisher: String) -> String { "/publishers/\(HubCall.segment(publisher))" }
}
