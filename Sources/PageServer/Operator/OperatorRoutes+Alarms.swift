import Formats
import Foundation
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

/// The hub's alarms: the list, and forms that silence them.
extension OperatorRoutes {
    private static let shownAlarms = 100
    private static let day = Duration.seconds(86_400)

    static func alarms(_ request: OperatorRequest) async throws -> Response {
        let list = try await request.hub.alarms()
        let (shown, next) = request.part(of: list.alarms, shownAlarms)
        let table = OperatorTable(
            "Alarms",
            ["Alarm", "What to do", "Since", "State", "Silence", "Silence for a day"],
            shown.map { row($0, request) },
            empty: "There are no alarms."
        )
        var section = OperatorSection("Active and silenced alarms", table: table)
        section.lines = [
            list.tag.map { "Alarms are sent to the tag \($0)." }
                ?? "Alarms are not sent: no tag is set in 'hub.alarm-tag'."
        ]
        if let omitted = list.omitted {
            section.lines.append("\(Counted.text(omitted, "more alarm is", "more alarms are")) not shown.")
        }
        let more = next.map { OperatorLink("More alarms", href: "\(request.root)alarms?from=\($0)") }
        return request.answer(.alarms, "Alarms", [section], more: more)
    }

    private static func row(_ alarm: AlarmReport, _ request: OperatorRequest) -> [OperatorTable.Cell] {
        let address = "\(request.root)alarms/\(PercentEncoding.encode(alarm.id))"
        let actions: [OperatorTable.Cell] =
            alarm.isSilenced
            ? [.init(button: "End the silence", action: "\(address)/unsilence"), .init("")]
            : [
                .init(button: "Silence until it ends", action: "\(address)/silence"),
                .init(button: "Silence for a day", action: "\(address)/silence?for=day"),
            ]
        return [
            .init(alarm.title, isBad: alarm.isRaised && !alarm.isSilenced), .init(alarm.text),
            .init(alarm.since.map(words.time) ?? "ended"), .init(words.silence(alarm) ?? "sent"),
        ] + actions
    }

    static func silence(_ request: OperatorRequest) async throws -> Response {
        _ = try await request.base.form()
        let id = request.parameter("id")
        let end = request.query["for"] == "day" ? (request.base.now + day).date : nil
        let detail = "\(id) until \(end.map { Timestamp($0).wholeSecond } ?? "it ends")"
        try await request.perform("silence alarm", detail, outcome: { (_: Void) in "silenced" }) {
            try await request.hub.silence(alarm: id, until: end)
        }
        return request.base.seeOther("\(request.root)alarms")
    }

    static func unsilence(_ request: OperatorRequest) async throws -> Response {
        _ = try await request.base.form()
        let id = request.parameter("id")
        try await request.perform("unsilence alarm", id, outcome: { (_: Void) in "done" }) {
            try await request.hub.endSilence(alarm: id)
        }
        return request.base.seeOther("\(request.root)alarms")
    }
}
