import FoundationEssentials
package import HubProtocol

/// Reports of publishers: our own routes, absent at other hubs.
extension HubClient {
    package func report(
        _ report: PublisherReport,
        publisher: String,
        timeout: Duration
    ) async throws(HubError) {
        var call = try HubCall("PUT", path(publisher), json: report)
        call.timeout = timeout
        // Our own hub accepts the report, so a 400 is another hub's reply for an unknown route.
        try await succeed(call, orUnsupported: HubCall.absentPlainRoute)
    }

    package func publishers() async throws(HubError) -> [PublisherSummary] {
        let call = HubCall("GET", "/publishers")
        let list: PublisherList =
            try await read(call, as: "the list of publishers", orUnsupported: HubCall.absentPlainRoute)
        return list.publishers
    }

    package func publisher(_ name: String) async throws(HubError) -> PublisherStatus {
        try await read(HubCall("GET", path(name)), as: "the publisher's report")
    }

    package func requests(
        to publisher: String,
        timeout: Duration
    ) async throws(HubError) -> [PublisherRequest] {
        var call = HubCall("GET", "\(path(publisher))/requests")
        call.timeout = timeout
        let list: PublisherRequests =
            try await read(call, as: "the requests to the publisher", orUnsupported: HubCall.absentPlainRoute)
        return list.requests
    }

    package func ask(_ publisher: String, _ request: PublisherRequest) async throws(HubError) -> PublisherRequest {
        try await read(
            try HubCall("POST", "\(path(publisher))/requests", json: request),
            as: "the request to the publisher"
        )
    }

    private func path(_ publisher: String) -> String { "/publishers/\(HubCall.segment(publisher))" }
}
