package import FoundationEssentials
package import HubProtocol

/// A hub's alarms: our own routes, absent elsewhere; all need Manage.
extension HubClient {
    package func alarms() async throws(HubError) -> AlarmList {
        var call = HubCall("GET", "/alarms")
        call.maximumReplyBytes = 4 << 20
        let reply = try await succeed(call, orUnsupported: HubCall.absentPlainRoute)
        return try decode(AlarmList.self, from: reply, as: "the list of alarms")
    }

    package func silence(alarm id: String, until end: Date?) async throws(HubError) {
        var call = HubCall("PUT", path(id))
        call.body = try encode(AlarmSilence(until: end.map { ISODateTime.formatSeconds($0) }))
        try await succeed(call)
    }

    package func endSilence(alarm id: String) async throws(HubError) {
        try await succeed(HubCall("DELETE", path(id)))
    }

    private func path(_ id: String) -> String { "/alarms/\(HubCall.segment(id))/silence" }
}
