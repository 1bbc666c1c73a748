import Alarms
import HubProtocol
import HubRouting
import PrometheusText

extension MetricsPage {
    /// The alarms by kind, not by subject: the subjects may be ten thousand categories.
    var alarms: [Metric] {
        let now = configuration.timestamp
        let counted = members.map { hub in
            (name: "\(hub.record.name)", raised: hub.alarms.raised, active: hub.alarms.record.counts(at: now))
        }
        func byKind(_ name: String, _ counts: [Alarm.Kind: Int]) -> [Sample] {
            Alarm.Kind.allCases.map { .init(counts[$0] ?? 0, ["hub": name, "kind": $0.rawValue]) }
        }
        return [
            (
                "newswire_alarm_active", .gauge, "Active alarms, including silenced ones, by kind.",
                counted.flatMap { byKind($0.name, $0.active.kinds) }
            ),
            (
                "newswire_alarm_silenced", .gauge, "Active alarms that are silenced.",
                counted.map { .init($0.active.silenced, ["hub": $0.name]) }
            ),
            (
                "newswire_alarm_raised_total", .counter, "Alarms that were reported since the start, by kind.",
                counted.flatMap { byKind($0.name, $0.raised) }
            ),
        ]
    }
}
