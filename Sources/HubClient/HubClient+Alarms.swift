package import FoundationEssentials
package import HubProtocol

/// A hub's alarms: our own routes, absent elsewhere; all need Manage.
extension HubClient {
    package func alarms() async throws(HubError) -> AlarmList {
        var call = HubCall("GET", "/alarms")
        call.maximumReplyBytes = 4 << 20
        return try await read(call, as: "the list of alarms", orUnsupported: HubCall.absentPlainRoute)
    }

    package func silence(alarm id: String, until end: Date?) async throws(HubError) {
        let silence = AlarmSilence(until: end.map { ISODateTime.formatSeconds($0) })
        try await succeed(try HubCall("PUT", path(id), json: silence))
    }

    package func endSilence(alarm id: String) async throws(HubError) {
        try await succeed(HubCall("DELETE", path(id)))
    }

    private func path(_ id: String) -> String { "/alarms/\(HubCall.segment(id))/silence" }
}
