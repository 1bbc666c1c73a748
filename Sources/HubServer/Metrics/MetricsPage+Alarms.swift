import Alarms
import HubProtocol
import HubRouting
import PrometheusText

extension MetricsPage {
    /// Adds the alarms by kind, not by subject: the subjects may be ten thousand categories.
    func addAlarms(to page: inout PrometheusText) {
        let now = configuration.timestamp
        let counted = members.map { hub in
            (
                name: "\(hub.record.name)", raised: hub.alarms.raised,
                hub.alarms.record.counts(at: now)
            )
        }
        page.add(
            "newswire_alarm_active",
            .gauge,
            "Active alarms, including silenced ones, by kind.",
            counted.flatMap { hub in
                Alarm.Kind.allCases.map { .init(hub.2.kinds[$0] ?? 0, ["hub": hub.name, "kind": $0.rawValue]) }
            }
        )
        page.add(
            "newswire_alarm_silenced",
            .gauge,
            "Active alarms that are silenced.",
            counted.map { .init($0.2.silenced, ["hub": $0.name]) }
        )
        page.add(
            "newswire_alarm_raised_total",
            .counter,
            "Alarms that were reported since the start, by kind.",
            counted.flatMap { hub in
                Alarm.Kind.allCases.map { .init(hub.raised[$0] ?? 0, ["hub": hub.name, "kind": $0.rawValue]) }
            }
        )
    }
}
